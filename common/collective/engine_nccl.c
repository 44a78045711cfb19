/* Collectives by NCCL, one GPU per rank. They run on a stream of their own, beside the rank's work; events order the two streams. NCCL
 * waits for ever, even for a rank that never arrives. So a rank that waits for its GPU checks for lost ranks (watch). */
#include "collective/engine.h"

#include "base/die.h"
#include "base/memory.h"
#include "device/device.h"
#include "device/device_cuda.h"
#include "launch/flight_recorder.h"
#include "options/run.h"
#include "world/world.h"
#include "world/world_mpi.h"

#include <nccl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BLOCKING = COLLECTIVE_STARTED_MOST, /* the slot of blocking operations */
    SLOTS,
    CHECK_EVERY_US = 100000, /* between checks for lost ranks */
};

static const double TIMEOUT_S = 60; /* without --deadline-s */

struct engine {
    struct world *world;
    ncclComm_t comm;
    cudaStream_t stream;
    float *token; /* (2) summed by a barrier */
    struct slot {
        struct collective_call call;
        bool is_open;             /* handed over, not known to be done */
        uint64_t turn;            /* number among this rank's operations handed over */
        cudaEvent_t handed, done; /* in the rank's stream; in the engine's; NULL before the first use */
    } slot[SLOTS];
    struct engine *next; /* of the open ones */
};

/* The wait of this rank for its GPU. A static variable, because a rank waits for the operations of all its engines. */
static struct {
    struct engine *engines;
    uint64_t turns;        /* operations handed over by all engines */
    uint64_t turn;         /* of the awaited operation */
    double since, checked; /* start of the wait for it; time of the last check */
    double looked;         /* time of the last look at the calls of all ranks */
    bool is_recorded;      /* the flight recorder has that operation as the one that this rank is in */
} waiting;

/* Set by collective_begin(). A static variable, because collective.h asks for the engine's properties before an engine exists. */
static struct {
    bool shares_gpus;
    double deadline_s;
} settings;

/* --- settings and names ------------------------------------------------------------------------------------------ */

static int version(void)
{
    int number = 0;
    return ncclGetVersion(&number) == ncclSuccess ? number : 0;
}

/* Let ranks share a GPU, which NCCL takes for a mistake. From 2.30.3 on NCCL has a setting for it; before, each rank pretends to
 * be a host of its own. Either way all data goes through the host's loopback. Other variables set by the user stay. */
static void allow_shared_gpus(int rank)
{
    enum { ALLOWS_SHARED_GPUS = 23003 };
    static const char *const plain[][2] = {
        { "NCCL_NET", "Socket" },    { "NCCL_SOCKET_IFNAME", "lo" }, { "NCCL_P2P_DISABLE", "1" },
        { "NCCL_SHM_DISABLE", "1" }, { "NCCL_NVLS_ENABLE", "0" },    { "NCCL_MNNVL_ENABLE", "0" },
        { "NCCL_RAS_ENABLE", "0" },  { "NCCL_ALGO", "Ring" },        { "NCCL_PROTO", "Simple" },
    };
    char *host = memory_text("lockstep-rank%d", rank);
    if (version() >= ALLOWS_SHARED_GPUS)
        setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 0);
    else
        setenv("NCCL_HOSTID", host, 1);
    free(host);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        setenv(plain[i][0], plain[i][1], 0);
}

void collective_begin(struct world *world, bool shares_gpus, double deadline_s)
{
    settings.shares_gpus = shares_gpus && world_size(world) > world_cores(world);
    /* ends before the supervisor's deadline, because a rank can report more */
    settings.deadline_s = deadline_s > 0 ? deadline_s / 2 : TIMEOUT_S;
    if (settings.shares_gpus)
        allow_shared_gpus(world_rank(world));
}

const char *collective_backend(void)
{
    return "nccl";
}

const char *collective_library(void)
{
    static char name[96]; /* returned, so it has to outlive the call */
    int number = version();
    snprintf(name, sizeof name, "NCCL %d.%d.%d, %s", number / 10000, number / 100 % 100, number % 100, world_engine());
    return name;
}

const char *collective_algorithm(void)
{
    const char *set = getenv("NCCL_ALGO");
    return set && strcmp(set, "Ring") == 0 ? "ring" : "NCCL's choice of";
}

const char *collective_hides_arrivals(void)
{
    return settings.shares_gpus ? "ranks share a GPU, whose scheduler decides which rank runs when" : NULL;
}

/* --- giving up ----------------------------------------------------------------------------------------------------- */

/* End this rank and, by MPI_Abort, all others, after one of them has printed this line. */
_Noreturn static void end_with(struct engine *e, const char *line)
{
    flight_recorder_say(world_recorder(e->world), line, world_sleep);
    if (e->comm)
        ncclCommAbort(e->comm);
    MPI_Abort(MPI_COMM_WORLD, STATUS_WRONG);
    abort();
}

/* End the job, and tell where the ranks wait. */
_Noreturn static void give_up(struct engine *e, const struct collective_call *call, const char *why)
{
    struct flight_recorder *recorder = world_recorder(e->world);
    if (call)
        flight_recorder_enter(recorder, call);
    world_sleep(0.2); /* let other waiting ranks record where they wait */
    char *text = flight_recorder_text(recorder);
    char *line = memory_text("rank %d gives up: %s%s%s; %s", world_rank(e->world), why, *text ? "; " : "", text,
                             flight_recorder_kept_text(recorder));
    end_with(e, line);
}

_Noreturn static void give_up_for(struct engine *e, const struct collective_call *call, const char *what,
                                  ncclResult_t result)
{
    char *why = memory_text("NCCL, %s: %s (%s)", what, ncclGetErrorString(result), ncclGetLastError(e->comm));
    for (char *c = why; *c; c++)
        *c = *c == '\n' ? ' ' : *c;
    give_up(e, call, why);
}

/* Return the operation of an engine that was handed over first and is not done; NULL if all are done. */
static const struct slot *find_pending(struct engine *e)
{
    const struct slot *pending = NULL;
    for (int i = 0; i < SLOTS; i++) {
        struct slot *slot = &e->slot[i];
        if (slot->is_open && cudaEventQuery(slot->done) == cudaSuccess)
            slot->is_open = false;
        if (slot->is_open && (!pending || slot->turn < pending->turn))
            pending = slot;
    }
    return pending;
}

/* Give up if an operation, awaited since then, can no longer be done in time. */
static void check_wait(struct engine *e, const struct collective_call *pending, double since)
{
    ncclResult_t state = ncclSuccess;
    ncclResult_t asked = ncclCommGetAsyncError(e->comm, &state);
    if (asked != ncclSuccess)
        state = asked;
    if (state != ncclSuccess && state != ncclInProgress)
        give_up_for(e, pending, "while ranks waited", state);
    if (flight_recorder_has_lost(world_recorder(e->world), RANKS_MOST))
        give_up(e, pending, "another rank has died");
    enum { LOOKS = 4 }; /* a second: a look at all ranks' calls takes longer than the other checks */
    char *desync = NULL;
    if (world_now() - waiting.looked > 1.0 / LOOKS) {
        desync = flight_recorder_desync_text(world_recorder(e->world), world_sleep);
        waiting.looked = world_now();
    }
    if (desync)
        end_with(e, desync);
    if (world_now() - since > settings.deadline_s) {
        char *why = memory_text("no progress for %g s (--deadline-s allows more time)", settings.deadline_s);
        give_up(e, pending, why);
    }
}

/* Record in which operation this rank has waited for a while: the host only handed it over and left it. */
static void record_long_wait(const struct slot *oldest, double now)
{
    const double long_s = 0.1;
    if (!oldest || waiting.is_recorded || now - waiting.since < long_s)
        return;
    flight_recorder_enter(world_recorder(waiting.engines->world), &oldest->call);
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
    const struct slot *oldest = NULL;
    for (struct engine *e = waiting.engines; e; e = e->next) {
        const struct slot *pending = find_pending(e);
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
    for (struct engine *e = waiting.engines; e; e = e->next) {
        const struct slot *pending = find_pending(e);
        if (pending)
            check_wait(e, &pending->call, waiting.since);
    }
}

/* Wait until NCCL has done a call's work on the host. With a non-blocking communicator a thread of NCCL launches each operation.
 * That takes less time than a sleep, except for the first ones, which connect ranks. */
static void await(struct engine *e, const struct collective_call *call, const char *what, ncclResult_t result)
{
    const double spin_s = 1e-3, since = world_now();
    while (result == ncclInProgress) {
        bool takes_long = world_now() - since > spin_s;
        if (takes_long)
            world_sleep(1e-4);
        else
            sched_yield(); /* NCCL's thread may need this core */
        ncclResult_t status = ncclCommGetAsyncError(e->comm, &result);
        if (status != ncclSuccess)
            result = status;
        if (result == ncclInProgress && takes_long)
            check_wait(e, call, since);
    }
    if (result != ncclSuccess)
        give_up_for(e, call, what, result);
}

/* --- engine ------------------------------------------------------------------------------------------------------ */

/* End the program. NCCL may refuse one rank or all; one rank prints a line. */
_Noreturn static void refuse(struct engine *e, ncclResult_t result)
{
    const char *why = ncclGetLastError(e->comm);
    const char *cure = result == ncclInvalidUsage ? "give each rank its own GPU, or add --share-gpu"
                                                  : "set NCCL_DEBUG=INFO for details";
    char *line = memory_text("NCCL cannot start (rank %d: %s: %.*s); %s", world_rank(e->world),
                             ncclGetErrorString(result), (int)strcspn(why, "\n"), why, cure);
    flight_recorder_say(world_recorder(e->world), line, world_sleep);
    fflush(NULL);
    _exit(STATUS_CANNOT);
}

static void join(struct engine *e)
{
    ncclUniqueId id;
    memset(&id, 0, sizeof id);
    ncclResult_t result = world_rank(e->world) == 0 ? ncclGetUniqueId(&id) : ncclSuccess;
    world_broadcast(e->world, &result, sizeof result);
    if (result != ncclSuccess)
        refuse(e, result);
    world_broadcast(e->world, &id, sizeof id);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0; /* lets a waiting rank give up */
    double since = world_now();
    result = ncclCommInitRankConfig(&e->comm, world_size(e->world), id, world_rank(e->world), &config);
    while (result == ncclInProgress || result == ncclSuccess) {
        ncclResult_t state = ncclSuccess;
        result = ncclCommGetAsyncError(e->comm, &state);
        result = result == ncclSuccess ? state : result;
        if (result == ncclSuccess)
            return;
        world_sleep(1e-3);
        if (flight_recorder_has_lost(world_recorder(e->world), RANKS_MOST))
            give_up(e, NULL, "a rank died while NCCL started");
        if (world_now() - since > settings.deadline_s)
            give_up(e, NULL, "NCCL does not start within the deadline (--deadline-s allows more time)");
    }
    refuse(e, result);
}

struct engine *engine_open(struct world *world)
{
    struct engine *e = memory_new(1, sizeof *e);
    e->world = world;
    join(e);
    cuda_must(cudaStreamCreateWithFlags(&e->stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    e->token = device_new(MEMORY_COMMUNICATION, 2, sizeof *e->token);
    e->next = waiting.engines;
    waiting.engines = e;
    cuda_watch(watch, NULL);
    return e;
}

static void drop_event(cudaEvent_t event)
{
    if (event)
        cuda_must(cudaEventDestroy(event), "cudaEventDestroy");
}

void engine_close(struct engine *e)
{
    cuda_wait(e->stream);
    struct engine **link = &waiting.engines;
    while (*link != e)
        link = &(*link)->next;
    *link = e->next;
    if (!waiting.engines)
        cuda_watch(NULL, NULL);
    await(e, NULL, "ncclCommFinalize", ncclCommFinalize(e->comm));
    ncclCommDestroy(e->comm);
    for (int i = 0; i < SLOTS; i++) {
        drop_event(e->slot[i].handed);
        drop_event(e->slot[i].done);
    }
    device_free(e->token);
    cuda_must(cudaStreamDestroy(e->stream), "cudaStreamDestroy");
    free(e);
}

/* Send and receive at the same time, in one group call: otherwise ranks that send to each other would both wait. */
static ncclResult_t exchange(struct engine *e, const struct collective_op *op, ncclDataType_t type)
{
    ncclResult_t part[] = { ncclGroupStart(), ncclSuccess, ncclSuccess };
    if (op->to >= 0)
        part[1] = ncclSend(op->send, op->count, type, op->to, e->comm, e->stream);
    if (op->from >= 0)
        part[2] = ncclRecv(op->receive, op->count, type, op->from, e->comm, e->stream);
    ncclResult_t ended = ncclGroupEnd(); /* also after a failure, because the group is this thread's */
    for (int i = 0; i < 3; i++)
        if (part[i] != ncclSuccess && part[i] != ncclInProgress)
            return part[i];
    return ended;
}

static ncclResult_t ask(struct engine *e, const struct collective_op *op)
{
    ncclDataType_t type = op->type == TYPE_F32 ? ncclFloat : ncclBfloat16;
    switch (op->kind) {
    case ALL_GATHER:
        return ncclAllGather(op->send, op->receive, op->count, type, e->comm, e->stream);
    case REDUCE_SCATTER:
        return ncclReduceScatter(op->send, op->receive, op->count, type, ncclSum, e->comm, e->stream);
    case BROADCAST: /* NCCL reads the first buffer on rank `from` only */
        return ncclBroadcast(op->from == world_rank(e->world) ? op->send : op->receive, op->receive, op->count, type,
                             op->from, e->comm, e->stream);
    case SEND_RECEIVE:
        return exchange(e, op, type);
    case BARRIER:
        return ncclAllReduce(e->token, e->token + 1, 1, ncclFloat, ncclSum, e->comm, e->stream);
    default:
        return ncclAllReduce(op->send, op->receive, op->count, type, ncclSum, e->comm, e->stream);
    }
}

static void make_event(cudaEvent_t *event)
{
    if (!*event)
        cuda_must(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
}

/* Queue an operation on the engine's stream, after the rank's work so far. */
static void hand_over(struct engine *e, int index, const struct operation *operation)
{
    struct slot *slot = &e->slot[index];
    make_event(&slot->handed);
    make_event(&slot->done);
    slot->call = operation->call;
    slot->is_open = false; /* until `done` is recorded again */
    slot->turn = waiting.turns++;
    cuda_must(cudaEventRecord(slot->handed, cuda_stream()), "cudaEventRecord");
    cuda_must(cudaStreamWaitEvent(e->stream, slot->handed, 0), "cudaStreamWaitEvent");
    await(e, &slot->call, collective_names[operation->op.kind], ask(e, &operation->op));
    cuda_must(cudaEventRecord(slot->done, e->stream), "cudaEventRecord");
    slot->is_open = true;
}

static void take_back(struct engine *e, int index)
{
    cuda_must(cudaStreamWaitEvent(cuda_stream(), e->slot[index].done, 0), "cudaStreamWaitEvent");
}

/* Wait for the rank's work if ranks share a GPU: they never compute beside a collective. A rank that spins for its peer may keep
 * the peer off the GPU. */
static void finish_work_if_shared(void)
{
    if (settings.shares_gpus)
        cuda_wait(cuda_stream());
}

void engine_run(struct engine *e, const struct operation *operation)
{
    finish_work_if_shared();
    hand_over(e, BLOCKING, operation);
    take_back(e, BLOCKING);
    finish_work_if_shared();
    if (operation->op.kind == BARRIER)
        cuda_wait(cuda_stream());
}

void engine_start(struct engine *e, int slot, const struct operation *operation)
{
    finish_work_if_shared();
    hand_over(e, slot, operation);
    if (settings.shares_gpus)
        cuda_wait(e->stream);
}

void engine_progress(struct engine *e, int slot)
{
    (void)e, (void)slot;
}

void engine_finish(struct engine *e, int slot)
{
    take_back(e, slot);
}

bool engine_runs_alone(void)
{
    return true;
}
