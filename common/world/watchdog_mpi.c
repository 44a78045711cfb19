#include "world/watchdog.h"

#include "base/die.h"
#include "base/memory.h"
#include "launch/flight_recorder.h"
#include "world/world.h"

#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { GRACE_S = 2 }; /* for a launcher to react to a lost rank itself, and for ending all ranks */

static const double CHECK_S = 0.5; /* between two checks */

struct watchdog {
    pthread_t thread;
    bool is_alone;
    struct flight_recorder *recorder; /* this, `ranks` and `end_all` are valid once has_joined */
    int ranks;
    void (*end_all)(void);
    atomic_bool has_joined, has_parted;
    sem_t wake;
    atomic_bool is_closing, has_signal;
    double timeout, since;    /* timeout in seconds, and world_now() at the last heartbeat */
    unsigned long beats_seen; /* heartbeats at the last check */
    char *desync;             /* message about ranks whose calls do not fit together; NULL: none */
};

/* Watchdog that note_signal() wakes. A static variable, because a signal handler gets no argument of ours. */
static struct watchdog *watchdog_of_handler;

/* Handle SIGTERM. The watchdog cannot wait for the signal itself, because threads of some libraries accept every signal. A SIGTERM
 * from another sender than the launcher (a user, an out-of-memory guard) ends this rank at once; the rank then counts as gone. */
static void note_signal(int number, siginfo_t *from, void *context)
{
    (void)context;
    if (from->si_pid != 0 && from->si_pid != getppid()) {
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    atomic_store(&watchdog_of_handler->has_signal, true);
    sem_post(&watchdog_of_handler->wake);
}

static struct flight_recorder *recorder_of(const struct watchdog *w)
{
    return atomic_load(&w->has_joined) ? w->recorder : NULL;
}

static bool has_lost(const struct watchdog *w)
{
    return atomic_load(&w->has_joined) && flight_recorder_has_lost(w->recorder, w->ranks);
}

static void print_lost(const struct watchdog *w)
{
    char *text = flight_recorder_text(w->recorder);
    char *line = memory_text("%s; %s", text, flight_recorder_kept_text(w->recorder));
    flight_recorder_say(w->recorder, line, world_sleep);
    free(line);
    free(text);
}

static void print_late(const struct watchdog *w)
{
    char *line = NULL;
    if (atomic_load(&w->has_joined))
        line = flight_recorder_timeout_text(w->recorder, w->timeout);
    else
        line = memory_text("rank %s: not all ranks reached the start within %g s; %s (--deadline-s allows more time)",
                           die_rank() ? die_rank() : "?", w->timeout, flight_recorder_kept_text(NULL));
    flight_recorder_say(recorder_of(w), line, world_sleep);
    free(line);
}

static void print_desync(const struct watchdog *w)
{
    flight_recorder_say(w->recorder, w->desync, world_sleep);
}

static void end_now(int signal)
{
    (void)signal;
    _exit(STATUS_WRONG);
}

/* End this process after GRACE_S even if printing or ending the other ranks blocks: the rank may hold the lock of a full pipe.
 * Ignore SIGPIPE, because a launcher that reads our output may have ended already because of another rank. */
static void limit_ending(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGALRM, end_now);
    alarm(GRACE_S);
}

/* End this rank after a launcher's SIGTERM, which may be a consequence of another rank's death. */
_Noreturn static void end_rank(const struct watchdog *w)
{
    limit_ending();
    if (w->is_alone && has_lost(w))
        print_lost(w);
    flight_recorder_leave_early(recorder_of(w));
    _exit(128 + SIGTERM);
}

_Noreturn static void end_job(const struct watchdog *w, void (*print)(const struct watchdog *w))
{
    limit_ending();
    print(w);
    if (atomic_load(&w->has_joined) && !atomic_load(&w->has_parted))
        w->end_all();
    _exit(STATUS_WRONG);
}

/* True if a rank has been lost for more than GRACE_S, so that a launcher had time to react itself. */
static bool stays_lost(const struct watchdog *w, double *since)
{
    if (!has_lost(w)) {
        *since = INFINITY;
        return false;
    }
    *since = fmin(*since, world_now());
    return world_now() - *since > GRACE_S;
}

static bool is_late(struct watchdog *w)
{
    struct heartbeat heartbeat = flight_recorder_read(recorder_of(w));
    if (heartbeat.heartbeats != w->beats_seen) {
        w->beats_seen = heartbeat.heartbeats;
        w->since = world_now();
        w->timeout = heartbeat.timeout;
    }
    return w->timeout > 0 && world_now() - w->since > w->timeout;
}

/* Sleep until the next check. If a supervisor watches the rank, sleep until a signal or watchdog_close(). */
static void sleep_until_next_check(struct watchdog *w)
{
    const double from = world_now(), next = from + CHECK_S;
    const struct timespec deadline = { .tv_sec = (time_t)next, .tv_nsec = (long)(1e9 * fmod(next, 1)) };
    if (w->is_alone)
        sem_clockwait(&w->wake, CLOCK_MONOTONIC, &deadline);
    else
        sem_wait(&w->wake);
    if (world_now() - from > FLIGHT_RECORDER_PAUSE_S)
        w->since += world_now() - from;
}

static void *watch(void *argument)
{
    struct watchdog *w = argument;
    double lost_since = INFINITY;
    for (;;) {
        sleep_until_next_check(w);
        if (atomic_load(&w->is_closing))
            return NULL;
        if (atomic_load(&w->has_signal))
            end_rank(w);
        if (!w->is_alone)
            continue;
        if (stays_lost(w, &lost_since))
            end_job(w, print_lost);
        w->desync = flight_recorder_desync_text(recorder_of(w), world_sleep);
        if (w->desync)
            end_job(w, print_desync);
        if (is_late(w))
            end_job(w, print_late);
    }
}

struct watchdog *watchdog_open(bool is_alone, double timeout)
{
    struct watchdog *w = memory_new(1, sizeof *w);
    w->is_alone = is_alone;
    w->timeout = timeout;
    w->since = world_now();
    sem_init(&w->wake, 0, 0);
    if (pthread_create(&w->thread, NULL, watch, w) != 0) {
        free(w);
        return NULL;
    }
    watchdog_of_handler = w;
    struct sigaction action = { .sa_sigaction = note_signal, .sa_flags = SA_SIGINFO | SA_RESTART };
    sigaction(SIGTERM, &action, NULL);
    return w;
}

void watchdog_join(struct watchdog *w, struct flight_recorder *recorder, int ranks, void (*end_all)(void))
{
    if (!w)
        return;
    w->recorder = recorder;
    w->ranks = ranks;
    w->end_all = end_all;
    atomic_store(&w->has_joined, true);
}

void watchdog_part(struct watchdog *w)
{
    if (w)
        atomic_store(&w->has_parted, true);
}

void watchdog_close(struct watchdog *w)
{
    if (!w)
        return;
    atomic_store(&w->is_closing, true);
    sem_post(&w->wake);
    pthread_join(w->thread, NULL);
    signal(SIGTERM, SIG_DFL); /* the handler must not use the freed watchdog */
    sem_destroy(&w->wake);
    free(w);
}
