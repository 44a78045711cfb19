/* Sums by NCCL, one GPU per rank. They travel on a stream of their own, beside the rank's work: events tell the one what
 * to wait for in the other. NCCL itself waits for ever, for a rank that never comes too; so whoever waits for the GPU looks
 * up now and then (watch). */
#include "collective/engine.h"

#include "base/die.h"
#include "base/memory.h"
#include "device/device.h"
#include "device/device_cuda.h"
#include "launch/flight_recorder.h"
#include "world/world.h"
#include "world/world_mpi.h"

#include <nccl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BLOCKING = COLLECTIVE_STARTED_MOST, /* the slot of sums that are not started */
    SLOTS,
    LOOK_AFTER_US = 100000, /* between looks for ranks that are gone */
};

static const double PATIENCE_S = 60; /* where no deadline was asked for */

struct engine {
    struct world *world;
    ncclComm_t comm;
    cudaStream_t travels;
    float *token; /* (2) what a barrier sums */
    struct slot {
        struct call call;
        bool is_open;             /* handed over, and not known to be done */
        cudaEvent_t handed, done; /* in the rank's work, among what travels */
    } slot[SLOTS];
    double since, looked; /* when the present waiting began, and when it was last looked at */
    int waits_for;        /* sequence of what is waited for */
};

static struct {
    bool shares_gpus;
    double deadline_s;
} settings;

/* --- what it is -------------------------------------------------------------------------------------------------- */

static int version(void)
{
    int number = 0;
    return ncclGetVersion(&number) == ncclSuccess ? number : 0;
}

/* Two ranks of one GPU NCCL takes for a mistake. From 2.30.3 it can be told otherwise; before, each rank pretends to be a
 * host of its own. Either way all they exchange goes through the host's loopback; what the person has set stands. */
static void pretend_hosts(int rank)
{
    enum { KNOWS_SHARED_GPUS = 23003 };
    static const char *const plain[][2] = {
        { "NCCL_NET", "Socket" },    { "NCCL_SOCKET_IFNAME", "lo" }, { "NCCL_P2P_DISABLE", "1" },
        { "NCCL_SHM_DISABLE", "1" }, { "NCCL_NVLS_ENABLE", "0" },    { "NCCL_MNNVL_ENABLE", "0" },
        { "NCCL_RAS_ENABLE", "0" },  { "NCCL_ALGO", "Ring" },        { "NCCL_PROTO", "Simple" },
    };
    char *host = memory_text("lockstep-rank%d", rank);
    if (version() >= KNOWS_SHARED_GPUS)
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
    settings.deadline_s = deadline_s > 0 ? deadline_s / 2 : PATIENCE_S; /* before the supervisor's: a rank knows more */
    if (settings.shares_gpus)
        pretend_hosts(world_rank(world));
}

const char *collective_backend(void)
{
    return "nccl";
}

const char *collective_library(void)
{
    static char name[96];
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
    return settings.shares_gpus ? "ranks share a GPU, and its scheduler decides which of them works when" : NULL;
}

/* --- when it does not end ----------------------------------------------------------------------------------------- */

/* Ends this rank and, by MPI, all others: one of them says why. */
_Noreturn static void give_up(struct engine *e, const struct call *call, const char *why)
{
    struct flight_recorder *recorder = world_recorder(e->world);
    if (call)
        flight_recorder_enter(recorder, call);
    world_sleep(0.2); /* let the others that wait say where */
    char *told = flight_recorder_text(recorder);
    char *line = memory_text("rank %d gives up: %s%s%s; %s", world_rank(e->world), why, *told ? "; " : "", told,
                             flight_recorder_kept_text(recorder));
    flight_recorder_say(recorder, line);
    if (e->comm)
        ncclCommAbort(e->comm);
    MPI_Abort(MPI_COMM_WORLD, STATUS_WRONG);
    abort();
}

_Noreturn static void give_up_for(struct engine *e, const struct call *call, const char *what, ncclResult_t result)
{
    char *why = memory_text("NCCL, %s: %s (%s)", what, ncclGetErrorString(result), ncclGetLastError(e->comm));
    for (char *c = why; *c; c++)
        *c = *c == '\n' ? ' ' : *c;
    give_up(e, call, why);
}

/* Of the sums handed over, the first that is not done; NULL when all are. */
static const struct call *find_pending(struct engine *e)
{
    const struct call *pending = NULL;
    for (int i = 0; i < SLOTS; i++) {
        struct slot *slot = &e->slot[i];
        if (slot->is_open && cudaEventQuery(slot->done) == cudaSuccess)
            slot->is_open = false;
        if (slot->is_open && (!pending || slot->call.sequence < pending->sequence))
            pending = &slot->call;
    }
    return pending;
}

/* Looks whether what is waited for can still come. */
static void look(struct engine *e, const struct call *pending)
{
    ncclResult_t state = ncclSuccess;
    if (ncclCommGetAsyncError(e->comm, &state) != ncclSuccess || (state != ncclSuccess && state != ncclInProgress))
        give_up_for(e, pending, "while ranks waited", state);
    if (flight_recorder_has_lost(world_recorder(e->world), world_size(e->world)))
        give_up(e, pending, "a rank that it waits for has died");
    if (world_now() - e->since > settings.deadline_s) {
        char *why = memory_text("nothing came for %g s (--deadline-s allows more)", settings.deadline_s);
        give_up(e, pending, why);
    }
}

/* Called about once a millisecond while this rank waits for its GPU. A pause between two calls is the end of a wait. */
static void watch(void *argument)
{
    struct engine *e = argument;
    double now = world_now(), pause = 1e-6 * LOOK_AFTER_US;
    if (now - e->looked > 2 * pause)
        e->since = e->looked = now;
    if (now - e->looked < pause)
        return;
    e->looked = now;
    const struct call *pending = find_pending(e);
    if (!pending)
        return;
    if (pending->sequence != e->waits_for)
        e->since = now; /* there was progress */
    e->waits_for = pending->sequence;
    look(e, pending);
}

/* NCCL's calls may return before they have done what is theirs on the host: of a communicator that does not block, a thread
 * of NCCL's own launches each sum. That takes less than a sleep; but the first ones connect ranks. */
static void await(struct engine *e, const struct call *call, const char *what, ncclResult_t result)
{
    const double patience = 1e-3;
    e->since = world_now();
    while (result == ncclInProgress) {
        bool takes_long = world_now() - e->since > patience;
        if (takes_long)
            world_sleep(1e-4);
        else
            sched_yield(); /* the thread may be on this core */
        ncclResult_t asked = ncclCommGetAsyncError(e->comm, &result);
        if (asked != ncclSuccess)
            result = asked;
        if (result == ncclInProgress && takes_long)
            look(e, call);
    }
    if (result != ncclSuccess)
        give_up_for(e, call, what, result);
}

/* --- engine ------------------------------------------------------------------------------------------------------ */

/* Any rank may be refused, alone or with all others; one line is enough. */
_Noreturn static void refuse(struct engine *e, ncclResult_t result)
{
    const char *why = ncclGetLastError(e->comm);
    const char *cure = result == ncclInvalidUsage ? "give each rank a GPU of its own, or ask for --share-gpu"
                                                  : "NCCL_DEBUG=INFO tells more";
    char *line = memory_text("NCCL cannot start (rank %d: %s: %.*s); %s", world_rank(e->world),
                             ncclGetErrorString(result), (int)strcspn(why, "\n"), why, cure);
    flight_recorder_say(world_recorder(e->world), line);
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
    config.blocking = 0; /* or nobody could give up */
    e->since = world_now();
    result = ncclCommInitRankConfig(&e->comm, world_size(e->world), id, world_rank(e->world), &config);
    while (result == ncclInProgress || result == ncclSuccess) {
        ncclResult_t state = ncclSuccess;
        result = ncclCommGetAsyncError(e->comm, &state);
        result = result == ncclSuccess ? state : result;
        if (result == ncclSuccess)
            return;
        world_sleep(1e-3);
        if (flight_recorder_has_lost(world_recorder(e->world), world_size(e->world)))
            give_up(e, NULL, "a rank died while NCCL started");
        if (world_now() - e->since > settings.deadline_s)
            give_up(e, NULL, "NCCL does not start within the deadline (--deadline-s allows more)");
    }
    refuse(e, result);
}

struct engine *engine_open(struct world *world)
{
    struct engine *e = memory_new(1, sizeof *e);
    e->world = world;
    join(e);
    cuda_must(cudaStreamCreateWithFlags(&e->travels, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    e->token = device_new(2, sizeof *e->token);
    for (int i = 0; i < SLOTS; i++) {
        cuda_must(cudaEventCreateWithFlags(&e->slot[i].handed, cudaEventDisableTiming), "cudaEventCreateWithFlags");
        cuda_must(cudaEventCreateWithFlags(&e->slot[i].done, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    }
    return e;
}

void engine_close(struct engine *e)
{
    cuda_wait(e->travels);
    cuda_watch(NULL, NULL);
    await(e, NULL, "ncclCommFinalize", ncclCommFinalize(e->comm));
    ncclCommDestroy(e->comm);
    for (int i = 0; i < SLOTS; i++) {
        cuda_must(cudaEventDestroy(e->slot[i].handed), "cudaEventDestroy");
        cuda_must(cudaEventDestroy(e->slot[i].done), "cudaEventDestroy");
    }
    device_free(e->token);
    cuda_must(cudaStreamDestroy(e->travels), "cudaStreamDestroy");
    free(e);
}

/* After the rank's work so far; what travels is another stream's. */
static void hand_over(struct engine *e, int index, const struct sum *sum)
{
    struct slot *slot = &e->slot[index];
    slot->call = (struct call){ .sequence = sum->sequence,
                                .ranks = world_size(e->world),
                                .step = sum->step,
                                .bytes = sum->send == e->token ? 0 : sum_bytes(sum) };
    cuda_watch(watch, e);
    cuda_must(cudaEventRecord(slot->handed, cuda_stream()), "cudaEventRecord");
    cuda_must(cudaStreamWaitEvent(e->travels, slot->handed, 0), "cudaStreamWaitEvent");
    ncclDataType_t type = sum->wire == WIRE_F32 ? ncclFloat : ncclBfloat16;
    ncclResult_t result = ncclAllReduce(sum->send, sum->receive, sum->count, type, ncclSum, e->comm, e->travels);
    await(e, &slot->call, "all-reduce", result);
    cuda_must(cudaEventRecord(slot->done, e->travels), "cudaEventRecord");
    slot->is_open = true;
}

static void take_back(struct engine *e, int index)
{
    cuda_must(cudaStreamWaitEvent(cuda_stream(), e->slot[index].done, 0), "cudaStreamWaitEvent");
}

/* Ranks that share a GPU never compute beside a collective: one that spins for its peer may keep the peer from coming. */
static void part_from_work(void)
{
    if (settings.shares_gpus)
        cuda_wait(cuda_stream());
}

void engine_sum(struct engine *e, const struct sum *sum)
{
    part_from_work();
    hand_over(e, BLOCKING, sum);
    take_back(e, BLOCKING);
    part_from_work();
}

void engine_barrier(struct engine *e, int sequence, int step)
{
    engine_sum(e, &(struct sum){ .wire = WIRE_F32,
                                 .send = e->token,
                                 .receive = e->token + 1,
                                 .count = 1,
                                 .sequence = sequence,
                                 .step = step });
    cuda_wait(cuda_stream());
}

void engine_start(struct engine *e, int slot, const struct sum *sum)
{
    part_from_work();
    hand_over(e, slot, sum);
    if (settings.shares_gpus)
        cuda_wait(e->travels);
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
