#include "watchdog.h"

#include "board.h"
#include "die.h"
#include "job.h"
#include "memory.h"
#include "world.h"

#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
    NS = 1000000000,
    LOOKS_NS = NS / 2, /* between two looks */
    GRACE_S = 2,       /* for the launcher, which may see a lost rank itself; and for ending all ranks */
};

static const uint64_t never = UINT64_MAX;

struct watchdog {
    pthread_t thread;
    bool is_alone;
    struct board *board; /* these three: of the ranks, once has_joined */
    int ranks;
    void (*end_all)(void);
    atomic_bool has_joined;
    sem_t wake;
    atomic_bool is_closing, was_told;
    atomic_uint_least64_t due; /* nanoseconds of world_now() */
    atomic_uint allowed_ms;    /* of the deadline that is running, to be told */
};

static struct watchdog *dog_of_handler;

/* Some libraries' threads take every signal, so that it cannot be waited for in ours. */
static void note_signal(int signal)
{
    (void)signal;
    atomic_store(&dog_of_handler->was_told, true);
    sem_post(&dog_of_handler->wake);
}

static uint64_t now_ns(void)
{
    return (uint64_t)(world_now() * 1e9);
}

static struct board *board_of(const struct watchdog *w)
{
    return atomic_load(&w->has_joined) ? w->board : NULL;
}

static bool has_lost(const struct watchdog *w)
{
    return board_has_lost(board_of(w), w->ranks);
}

static void say_lost(const struct watchdog *w)
{
    char *told = board_tell(board_of(w));
    char *line = memory_text("%s; files of earlier runs are untouched", told);
    board_say(board_of(w), line);
    free(line);
    free(told);
}

static void say_late(const struct watchdog *w)
{
    double allowed = 1e-3 * atomic_load(&w->allowed_ms);
    char *line = NULL;
    if (atomic_load(&w->has_joined))
        line = board_tell_late(w->board, allowed);
    else
        line = memory_text(
            "rank %s: the ranks have not all come to the start, or to the end, within %g s; files of earlier "
            "runs are untouched (--deadline-s allows more time)",
            job_rank(), allowed);
    board_say(board_of(w), line);
    free(line);
}

/* Somebody told this rank to end: a launcher, perhaps because another rank is gone. */
_Noreturn static void obey(const struct watchdog *w)
{
    if (w->is_alone && has_lost(w))
        say_lost(w);
    board_leave_early(board_of(w));
    _exit(128 + SIGTERM);
}

_Noreturn static void give_up(const struct watchdog *w)
{
    alarm(GRACE_S); /* should ending the others get stuck */
    if (atomic_load(&w->has_joined))
        w->end_all();
    _exit(STATUS_WRONG);
}

/* Who is lost for good: a launcher that sees it too has had its time. */
static bool stays_lost(const struct watchdog *w, double *since)
{
    if (!has_lost(w)) {
        *since = INFINITY;
        return false;
    }
    *since = fmin(*since, world_now());
    return world_now() - *since > GRACE_S;
}

static void *keep_watch(void *argument)
{
    struct watchdog *w = argument;
    double lost_since = INFINITY;
    for (;;) {
        const uint64_t next = now_ns() + LOOKS_NS;
        sem_clockwait(&w->wake, CLOCK_MONOTONIC,
                      &(struct timespec){ .tv_sec = (time_t)(next / NS), .tv_nsec = (long)(next % NS) });
        if (atomic_load(&w->is_closing))
            return NULL;
        if (atomic_load(&w->was_told))
            obey(w);
        if (!w->is_alone)
            continue;
        if (stays_lost(w, &lost_since)) {
            say_lost(w);
            give_up(w);
        }
        if (now_ns() > atomic_load(&w->due)) {
            say_late(w);
            give_up(w);
        }
    }
}

struct watchdog *watchdog_open(bool is_alone)
{
    struct watchdog *w = memory_new(1, sizeof *w);
    w->is_alone = is_alone;
    atomic_store(&w->due, never);
    sem_init(&w->wake, 0, 0);
    if (pthread_create(&w->thread, NULL, keep_watch, w) != 0) {
        free(w);
        return NULL;
    }
    dog_of_handler = w;
    signal(SIGTERM, note_signal);
    return w;
}

void watchdog_join(struct watchdog *w, struct board *board, int ranks, void (*end_all)(void))
{
    if (!w)
        return;
    w->board = board;
    w->ranks = ranks;
    w->end_all = end_all;
    atomic_store(&w->has_joined, true);
}

void watchdog_part(struct watchdog *w)
{
    if (w)
        atomic_store(&w->has_joined, false);
}

void watchdog_close(struct watchdog *w)
{
    if (!w)
        return;
    atomic_store(&w->is_closing, true);
    sem_post(&w->wake);
    pthread_join(w->thread, NULL);
    signal(SIGTERM, SIG_DFL); /* the handler must not outlive what it writes to */
    sem_destroy(&w->wake);
    free(w);
}

void watchdog_allow(struct watchdog *w, double seconds)
{
    if (!w)
        return;
    atomic_store(&w->allowed_ms, (unsigned)(1e3 * seconds));
    atomic_store(&w->due, now_ns() + (uint64_t)(1e9 * seconds));
}
