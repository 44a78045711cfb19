#include "world/async_helper.h"

#include "base/die.h"
#include "base/memory.h"
#include "launch/platform.h"
#include "world/side_process_sim.h"

#include <stdbool.h>
#include <stdlib.h>

struct async_helper {
    int which; /* index of the side process */
    struct helper_job {
        int number;
        void (*work)(void *context);
        void *context;
        bool is_done;
    } jobs[ASYNC_HELPER_JOBS];
    unsigned begun, waited;
};

/* The side processes of this rank that have a helper. Static, because they belong to the rank; SMPI gives each rank its own copy. */
static bool is_taken[PLATFORM_HELPERS_MOST];

static void do_work(void *argument, MPI_Comm peers)
{
    (void)peers;
    struct helper_job *job = argument;
    job->work(job->context);
    job->is_done = true;
}

struct async_helper *async_helper_open(void)
{
    const int helpers = side_process_helpers();
    int which = 0;
    while (which < helpers && is_taken[which])
        which++;
    if (which == helpers)
        die(STATUS_WRONG, "this simulated rank has only %d helpers; set `helpers` of struct lab_spec", helpers);
    is_taken[which] = true;
    struct async_helper *h = memory_new(1, sizeof *h);
    h->which = which;
    return h;
}

struct async_helper *async_helper_open_on_any_core(int spare_cores)
{
    (void)spare_cores; /* the simulator chooses the core */
    return async_helper_open();
}

void async_helper_close(struct async_helper *h)
{
    async_helper_end(h);
    is_taken[h->which] = false;
    free(h);
}

void async_helper_begin(struct async_helper *h, void (*work)(void *context), void *context)
{
    if (h->begun - h->waited == ASYNC_HELPER_JOBS)
        die(STATUS_WRONG, "a helper has %d jobs; wait for one before the next", ASYNC_HELPER_JOBS);
    struct helper_job *job = &h->jobs[h->begun++ % ASYNC_HELPER_JOBS];
    *job = (struct helper_job){ .work = work, .context = context };
    job->number = side_process_begin(side_process_helper(h->which), do_work, job);
}

bool async_helper_lacks_one(struct async_helper *h)
{
    return h->waited < h->begun && !h->jobs[h->waited % ASYNC_HELPER_JOBS].is_done;
}

void async_helper_end_one(struct async_helper *h)
{
    if (h->waited == h->begun)
        return;
    side_process_end(side_process_helper(h->which), h->jobs[h->waited % ASYNC_HELPER_JOBS].number);
    h->waited++;
}

void async_helper_end(struct async_helper *h)
{
    while (h->waited < h->begun)
        async_helper_end_one(h);
}
