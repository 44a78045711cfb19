#include "world/async_helper.h"

#include "base/die.h"
#include "base/memory.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Jobs by number, in a ring: waited <= done <= begun. */
struct async_helper {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct job {
        void (*work)(void *context);
        void *context;
    } jobs[ASYNC_HELPER_JOBS];
    unsigned begun, done, waited;
    bool is_closing, is_awaited, has_any_core;
    int spare_cores; /* of a helper that has any core */
    int core;        /* of the rank, when it began a job */
    cpu_set_t cores; /* that a helper may use which has any core */
};

/* Number of this process's helpers at work. Each helper thread knows only its own jobs, and this tells it whether a core is left. */
static atomic_int working;

/* Move away from the core of a rank that computes. Linux wakes a thread on the core where it ran last, and looks for an idle one only
 * where there are many: on two cores (Linux 6.18, 2026-11-28), some workers stayed on their rank's core for all steps of a block, and
 * took it for the 0.15 ms that they needed for a batch while the other core was idle. */
static void leave_rank(const struct async_helper *h)
{
    cpu_set_t others = h->cores;
    CPU_CLR((size_t)h->core, &others);
    if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof others, &others) != 0)
        return;
    sched_setaffinity(0, sizeof h->cores, &h->cores); /* it may come back when that core is free */
}

static void *serve(void *argument)
{
    struct async_helper *h = argument;
    pthread_mutex_lock(&h->mutex);
    for (;;) {
        while (h->done == h->begun && !h->is_closing)
            pthread_cond_wait(&h->changed, &h->mutex);
        if (h->done == h->begun)
            break;
        const struct job job = h->jobs[h->done % ASYNC_HELPER_JOBS];
        const bool is_in_the_way = !h->is_awaited && sched_getcpu() == h->core;
        pthread_mutex_unlock(&h->mutex);
        if (atomic_fetch_add(&working, 1) < h->spare_cores && is_in_the_way)
            leave_rank(h);
        job.work(job.context);
        atomic_fetch_sub(&working, 1);
        pthread_mutex_lock(&h->mutex);
        h->done++;
        pthread_mutex_unlock(&h->mutex);
        pthread_cond_broadcast(&h->changed);
        pthread_mutex_lock(&h->mutex);
    }
    pthread_mutex_unlock(&h->mutex);
    return NULL;
}

struct async_helper *async_helper_open(void)
{
    struct async_helper *h = memory_new(1, sizeof *h);
    pthread_mutex_init(&h->mutex, NULL);
    pthread_cond_init(&h->changed, NULL);
    int error = pthread_create(&h->thread, NULL, serve, h);
    if (error)
        die(STATUS_WRONG, "cannot start a helper thread: %s", strerror(error));
    return h;
}

/* mpirun binds a rank to a core, and a thread inherits that. The parent, mpirun, has all cores that the user has granted. A parent that
 * this process may not ask, or a kernel that refuses, leaves the thread where it is. */
struct async_helper *async_helper_open_on_any_core(int spare_cores)
{
    struct async_helper *h = async_helper_open();
    if (sched_getaffinity(getppid(), sizeof h->cores, &h->cores) == 0)
        h->has_any_core = pthread_setaffinity_np(h->thread, sizeof h->cores, &h->cores) == 0;
    h->spare_cores = h->has_any_core ? spare_cores : 0;
    return h;
}

void async_helper_close(struct async_helper *h)
{
    pthread_mutex_lock(&h->mutex);
    h->is_closing = true;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->mutex);
    pthread_join(h->thread, NULL);
    pthread_cond_destroy(&h->changed);
    pthread_mutex_destroy(&h->mutex);
    free(h);
}

/* The lock is released before the helper is woken. A helper that got the core at once would else wait for the lock, and go to sleep
 * again: then a hand-over took 2.4 to 3.2 us, now 1.8 (Intel Xeon, 2026-11-28).
 *
 * A helper that shares its rank's core gets it now. Without sched_yield() it might begin only when the rank waits: where a rank computed
 * for 4 ms, Linux 6.18 let its helper begin 0.5 to 1 ms late in the mean, and up to 4 ms, and what it was to hide did not fit into the
 * step. */
void async_helper_begin(struct async_helper *h, void (*work)(void *context), void *context)
{
    pthread_mutex_lock(&h->mutex);
    if (h->begun - h->waited == ASYNC_HELPER_JOBS)
        die(STATUS_WRONG, "a helper has %d jobs; wait for one before the next", ASYNC_HELPER_JOBS);
    h->jobs[h->begun++ % ASYNC_HELPER_JOBS] = (struct job){ work, context };
    h->core = sched_getcpu();
    pthread_mutex_unlock(&h->mutex);
    pthread_cond_broadcast(&h->changed);
    if (!h->has_any_core)
        sched_yield();
}

/* Wait for jobs up to this number. */
static void wait_for(struct async_helper *h, unsigned job)
{
    h->is_awaited = true;
    while (h->done < job)
        pthread_cond_wait(&h->changed, &h->mutex);
    h->is_awaited = false;
    h->waited = job;
}

bool async_helper_lacks_one(struct async_helper *h)
{
    pthread_mutex_lock(&h->mutex);
    const bool lacks = h->waited < h->begun && h->done == h->waited;
    pthread_mutex_unlock(&h->mutex);
    return lacks;
}

void async_helper_end_one(struct async_helper *h)
{
    pthread_mutex_lock(&h->mutex);
    if (h->waited < h->begun)
        wait_for(h, h->waited + 1);
    pthread_mutex_unlock(&h->mutex);
}

void async_helper_end(struct async_helper *h)
{
    pthread_mutex_lock(&h->mutex);
    wait_for(h, h->begun);
    pthread_mutex_unlock(&h->mutex);
}
