#include "collective/watch_nccl.h"

#include "base/die.h"
#include "base/memory.h"
#include "device/device_cuda.h"
#include "launch/flight_recorder.h"
#include "options/run.h"
#include "world/world.h"
#include "world/world_mpi.h"

#include <sched.h>
#include <stdlib.h>

enum { CHECK_EVERY_US = 100000 }; /* between checks for lost ranks */

/* The wait of this rank for its GPU. A static variable, because a rank waits for the operations of all its engines. */
static struct {
    struct nccl_watched *all; /* open engines */
    double timeout_s;         /* of any wait */
    uint64_t turns;           /* operations handed over by all engines */
    uint64_t turn;            /* of the awaited operation */
    double since, checked;    /* start of the wait for it; time of the last check */
    double looked;            /* time of the last look at the calls of all ranks */
    bool is_recorded;         /* the flight recorder has that operation as the one that this rank is in */
} waiting;

/* --- giving up ---------------------------------------------------------------------------------------------------- */

/* End this rank and, by MPI_Abort, all others, after one of them has printed this line. */
_Noreturn static void end_with(struct nccl_watched *w, const char *line)
{
    flight_recorder_say(world_recorder(w->world), line, world_sleep);
    if (w->comm)
        ncclCommAbort(w->comm);
    MPI_Abort(MPI_COMM_WORLD, STATUS_WRONG);
    abort();
}

/* Print where the ranks wait, and end the job. */
_Noreturn static void give_up(struct nccl_watched *w, const struct collective_call *call, const char *why)
{
    struct flight_recorder *recorder = world_recorder(w->world);
    if (call)
        flight_recorder_enter(recorder, call);
    world_sleep(0.2); /* let other waiting ranks record where they wait */
    char *text = flight_recorder_text(recorder);
    char *line = memory_text("rank %d gives up: %s%s%s; %s", world_rank(w->world), why, *text ? "; " : "", text,
                             flight_recorder_kept_text(recorder));
    end_with(w, line);
}

_Noreturn static void give_up_for(struct nccl_watched *w, const struct collective_call *call, const char *what,
                                  ncclResult_t result)
{
    char *why = memory_text("NCCL, %s: %s (%s)", what, ncclGetErrorString(result), ncclGetLastError(w->comm));
    for (char *c = why; *c; c++)
        *c = *c == '\n' ? ' ' : *c;
    give_up(w, call, why);
}

/* --- checking ------------------------------------------------------------------------------------------------------ */

/* Return the operation of an engine that was handed over first and is not done; NULL if all are done. */
static const struct nccl_operation *find_pending(struct nccl_watched *w)
{
    const struct nccl_operation *pending = NULL;
    for (int i = 0; i < NCCL_SLOTS; i++) {
        struct nccl_operation *slot = &w->operation[i];
        if (slot->is_open && cudaEventQuery(slot->done) == cudaSuccess)
            slot->is_open = false;
        if (slot->is_open && (!pending || slot->turn < pending->turn))
            pending = slot;
    }
    return pending;
}

/* Give up if an operation, awaited since then, can no longer be done in time. */
static void check_wait(struct nccl_watched *w, const struct collective_call *pending, double since)
{
    ncclResult_t state = ncclSuccess;
    ncclResult_t asked = ncclCommGetAsyncError(w->comm, &state);
    if (asked != ncclSuccess)
        state = asked;
    if (state != ncclSuccess && state != ncclInProgress)
        give_up_for(w, pending, "while ranks waited", state);
    if (flight_recorder_has_lost(world_recorder(w->world), RANKS_MOST))
        give_up(w, pending, "another rank has died");
    enum { LOOKS = 4 }; /* a second: a look at all ranks' calls takes longer than the other checks */
    char *desync = NULL;
    if (world_now() - waiting.looked > 1.0 / LOOKS) {
        desync = flight_recorder_desync_text(world_recorder(w->world), world_sleep);
        waiting.looked = world_now();
    }
    if (desync)
        end_with(w, desync);
    if (world_now() - since > waiting.timeout_s) {
        char *why = memory_text("no progress for %g s (--deadline-s allows more time)", waiting.timeout_s);
        give_up(w, pending, why);
    }
}

/* Record in which operation this rank has waited for a while: the host only handed it over and left it. */
static void record_long_wait(const struct nccl_operation *oldest, double now)
{
    const double long_s = 0.1;
    if (!oldest || waiting.is_recorded || now - waiting.since < long_s)
        return;
    flight_recorder_enter(world_recorder(waiting.all->world), &oldest->call);
    waiting.is_recorded = true;
}

/* Check a wait; called about once a millisecond while this rank waits for its GPU. A long gap between calls means a new wait.
 * Every engine with a pending operation is checked, because ranks of any group may be lost. */
static void watch(void *argument)
{
    (void)argument;
    double now = world_now(), pause = 1e-6 * CHECK_EVERY_US;
    if (now - waiting.checked > 2 * pause)
        waiting.since = waiting.checked = now;
    if (now - waiting.checked < pause)
        return;
    waiting.checked = now;
    uint64_t first = waiting.turns;
    const struct nccl_operation *oldest = NULL;
    for (struct nccl_watched *w = waiting.all; w; w = w->next) {
        const struct nccl_operation *pending = find_pending(w);
        if (pending && pending->turn < first) {
            first = pending->turn;
            oldest = pending;
        }
    }
    if (first != waiting.turn) { /* progress since the last check */
        waiting.since = now;
        waiting.is_recorded = false;
    }
    waiting.turn = first;
    record_long_wait(oldest, now);
    for (struct nccl_watched *w = waiting.all; w; w = w->next) {
        const struct nccl_operation *pending = find_pending(w);
        if (pending)
            check_wait(w, &pending->call, waiting.since);
    }
}

/* --- what an engine calls ------------------------------------------------------------------------------------------ */

void nccl_watch_begin(double timeout_s)
{
    waiting.timeout_s = timeout_s;
}

void nccl_watch_add(struct nccl_watched *w)
{
    w->next = waiting.all;
    waiting.all = w;
    cuda_watch(watch, NULL);
}

void nccl_watch_remove(struct nccl_watched *w)
{
    struct nccl_watched **link = &waiting.all;
    while (*link != w)
        link = &(*link)->next;
    *link = w->next;
    if (!waiting.all)
        cuda_watch(NULL, NULL);
}

void nccl_watch_hand_over(struct nccl_operation *operation, const struct collective_call *call)
{
    operation->call = *call;
    operation->is_open = false; /* until `done` is recorded again */
    operation->turn = waiting.turns++;
}

ncclResult_t nccl_watch_await_start(struct nccl_watched *w, ncclResult_t result)
{
    const double since = world_now();
    while (result == ncclInProgress || result == ncclSuccess) {
        ncclResult_t state = ncclSuccess;
        result = ncclCommGetAsyncError(w->comm, &state);
        result = result == ncclSuccess ? state : result;
        if (result == ncclSuccess)
            break;
        world_sleep(1e-3);
        if (flight_recorder_has_lost(world_recorder(w->world), RANKS_MOST))
            give_up(w, NULL, "a rank died while NCCL started");
        if (world_now() - since > waiting.timeout_s)
            give_up(w, NULL, "NCCL does not start within the deadline (--deadline-s allows more time)");
    }
    return result;
}

/* With a non-blocking communicator a thread of NCCL launches each operation. That takes less time than a sleep, except for the first
 * ones, which connect ranks. */
void nccl_watch_await(struct nccl_watched *w, const struct collective_call *call, const char *what, ncclResult_t result)
{
    const double spin_s = 1e-3, since = world_now();
    while (result == ncclInProgress) {
        bool takes_long = world_now() - since > spin_s;
        if (takes_long)
            world_sleep(1e-4);
        else
            sched_yield(); /* NCCL's thread may need this core */
        ncclResult_t status = ncclCommGetAsyncError(w->comm, &result);
        if (status != ncclSuccess)
            result = status;
        if (result == ncclInProgress && takes_long)
            check_wait(w, call, since);
    }
    if (result != ncclSuccess)
        give_up_for(w, call, what, result);
}
