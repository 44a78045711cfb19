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

enum { GRACE_S = 2 }; /* for the launcher, which may see a lost rank itself; and for ending all ranks */

static const double LOOK_S = 0.5; /* between two looks */

struct watchdog {
    pthread_t thread;
    bool is_alone;
    struct flight_recorder *recorder; /* these three: of the ranks, once has_joined */
    int ranks;
    void (*end_all)(void);
    atomic_bool has_joined, has_parted;
    sem_t wake;
    atomic_bool is_closing, was_told;
    double allowed, since; /* of the deadline that is running: seconds, and world_now() at the last sign of life */
    unsigned long felt;    /* signs of life */
};

static struct watchdog *dog_of_handler;

/* Some libraries' threads take every signal, so that it cannot be waited for in ours. One that comes from elsewhere than the
 * launcher (a person, a guard of memory) ends this rank first of all: it is then the one that is gone. */
static void note_signal(int number, siginfo_t *from, void *context)
{
    (void)context;
    if (from->si_pid != 0 && from->si_pid != getppid()) {
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    atomic_store(&dog_of_handler->was_told, true);
    sem_post(&dog_of_handler->wake);
}

static struct flight_recorder *board_of(const struct watchdog *w)
{
    return atomic_load(&w->has_joined) ? w->recorder : NULL;
}

static bool has_lost(const struct watchdog *w)
{
    return atomic_load(&w->has_joined) && flight_recorder_has_lost(w->recorder, w->ranks);
}

static void say_lost(const struct watchdog *w)
{
    char *told = flight_recorder_text(w->recorder);
    char *line = memory_text("%s; %s", told, flight_recorder_kept_text(w->recorder));
    flight_recorder_say(w->recorder, line);
    free(line);
    free(told);
}

static void say_late(const struct watchdog *w)
{
    char *line = NULL;
    if (atomic_load(&w->has_joined))
        line = flight_recorder_timeout_text(w->recorder, w->allowed);
    else
        line = memory_text(
            "rank %s: the ranks have not all come to the start within %g s; %s (--deadline-s allows more time)",
            die_rank() ? die_rank() : "?", w->allowed, flight_recorder_kept_text(NULL));
    flight_recorder_say(board_of(w), line);
    free(line);
}

static void end_now(int signal)
{
    (void)signal;
    _exit(STATUS_WRONG);
}

/* Should speaking get stuck (the rank itself may hold the lock of a full pipe), or ending the others. And who is to hear it may
 * have gone before: a launcher that another rank has told. */
static void end_soon(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGALRM, end_now);
    alarm(GRACE_S);
}

/* Somebody told this rank to end: a launcher, perhaps because another rank is gone. */
_Noreturn static void obey(const struct watchdog *w)
{
    end_soon();
    if (w->is_alone && has_lost(w))
        say_lost(w);
    flight_recorder_leave_early(board_of(w));
    _exit(128 + SIGTERM);
}

_Noreturn static void give_up(const struct watchdog *w, void (*say)(const struct watchdog *w))
{
    end_soon();
    say(w);
    if (atomic_load(&w->has_joined) && !atomic_load(&w->has_parted))
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

static bool is_late(struct watchdog *w)
{
    struct heartbeat heartbeat = flight_recorder_read(board_of(w));
    if (heartbeat.beats != w->felt) {
        w->felt = heartbeat.beats;
        w->since = world_now();
        w->allowed = heartbeat.allowed;
    }
    return w->allowed > 0 && world_now() - w->since > w->allowed;
}

/* Beside a rank that others watch there is nothing to look for: it sleeps until it is told something. */
static void sleep_until_next_look(struct watchdog *w)
{
    const double from = world_now(), next = from + LOOK_S;
    const struct timespec look = { .tv_sec = (time_t)next, .tv_nsec = (long)(1e9 * fmod(next, 1)) };
    if (w->is_alone)
        sem_clockwait(&w->wake, CLOCK_MONOTONIC, &look);
    else
        sem_wait(&w->wake);
    if (world_now() - from > FLIGHT_RECORDER_PAUSE_S)
        w->since += world_now() - from;
}

static void *keep_watch(void *argument)
{
    struct watchdog *w = argument;
    double lost_since = INFINITY;
    for (;;) {
        sleep_until_next_look(w);
        if (atomic_load(&w->is_closing))
            return NULL;
        if (atomic_load(&w->was_told))
            obey(w);
        if (!w->is_alone)
            continue;
        if (stays_lost(w, &lost_since))
            give_up(w, say_lost);
        if (is_late(w))
            give_up(w, say_late);
    }
}

struct watchdog *watchdog_open(bool is_alone, double allowed)
{
    struct watchdog *w = memory_new(1, sizeof *w);
    w->is_alone = is_alone;
    w->allowed = allowed;
    w->since = world_now();
    sem_init(&w->wake, 0, 0);
    if (pthread_create(&w->thread, NULL, keep_watch, w) != 0) {
        free(w);
        return NULL;
    }
    dog_of_handler = w;
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
    signal(SIGTERM, SIG_DFL); /* the handler must not outlive what it writes to */
    sem_destroy(&w->wake);
    free(w);
}
