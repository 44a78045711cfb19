/* Collectives by NCCL, one GPU per rank. They run on a stream of their own, beside the rank's work; events order the two streams. */
#include "collective/engine.h"

#include "base/die.h"
#include "base/memory.h"
#include "collective/watch_nccl.h"
#include "device/device.h"
#include "device/device_cuda.h"
#include "launch/flight_recorder.h"
#include "world/world.h"

#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKING = COLLECTIVE_STARTED_MOST }; /* the slot of blocking operations */

static const double TIMEOUT_S = 60; /* without --deadline-s */

struct engine {
    struct nccl_watched watched; /* its communicator and its operations, by slot */
    cudaStream_t stream;
    cudaEvent_t handed[NCCL_SLOTS]; /* in the rank's stream, before an operation; NULL before the first use */
    float *token;                   /* (2) summed by a barrier */
};

/* Set by collective_begin(). A static variable, because collective.h asks for the engine's properties before an engine exists. */
static bool shares_gpus;

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

void collective_begin(struct world *world, bool may_share_gpus, double deadline_s)
{
    shares_gpus = may_share_gpus && world_size(world) > world_cores(world);
    /* ends before the supervisor's deadline, because a rank can report more */
    nccl_watch_begin(deadline_s > 0 ? deadline_s / 2 : TIMEOUT_S);
    if (shares_gpus)
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
    return shares_gpus ? "ranks share a GPU, whose scheduler decides which rank runs when" : NULL;
}

/* --- engine ------------------------------------------------------------------------------------------------------ */

/* End the program. NCCL may refuse one rank or all; one rank prints a line. */
_Noreturn static void refuse(struct engine *e, ncclResult_t result)
{
    const char *why = ncclGetLastError(e->watched.comm);
    const char *cure = result == ncclInvalidUsage ? "give each rank its own GPU, or add --share-gpu"
                                                  : "set NCCL_DEBUG=INFO for details";
    char *line = memory_text("NCCL cannot start (rank %d: %s: %.*s); %s", world_rank(e->watched.world),
                             ncclGetErrorString(result), (int)strcspn(why, "\n"), why, cure);
    flight_recorder_say(world_recorder(e->watched.world), line, world_sleep);
    fflush(NULL);
    _exit(STATUS_CANNOT);
}

static void join(struct engine *e)
{
    struct nccl_watched *w = &e->watched;
    ncclUniqueId id;
    memset(&id, 0, sizeof id);
    ncclResult_t result = world_rank(w->world) == 0 ? ncclGetUniqueId(&id) : ncclSuccess;
    world_broadcast(w->world, &result, sizeof result);
    if (result != ncclSuccess)
        refuse(e, result);
    world_broadcast(w->world, &id, sizeof id);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0; /* lets a waiting rank give up */
    result = nccl_watch_await_start(
        w, ncclCommInitRankConfig(&w->comm, world_size(w->world), id, world_rank(w->world), &config));
    if (result != ncclSuccess)
        refuse(e, result);
}

struct engine *engine_open(struct world *world)
{
    struct engine *e = memory_new(1, sizeof *e);
    e->watched.world = world;
    join(e);
    cuda_must(cudaStreamCreateWithFlags(&e->stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    e->token = device_new(MEMORY_COMMUNICATION, 2, sizeof *e->token);
    nccl_watch_add(&e->watched);
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
    nccl_watch_remove(&e->watched);
    nccl_watch_await(&e->watched, NULL, "ncclCommFinalize", ncclCommFinalize(e->watched.comm));
    ncclCommDestroy(e->watched.comm);
    for (int i = 0; i < NCCL_SLOTS; i++) {
        drop_event(e->handed[i]);
        drop_event(e->watched.operation[i].done);
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
        part[1] = ncclSend(op->send, op->count, type, op->to, e->watched.comm, e->stream);
    if (op->from >= 0)
        part[2] = ncclRecv(op->receive, op->count, type, op->from, e->watched.comm, e->stream);
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
        return ncclAllGather(op->send, op->receive, op->count, type, e->watched.comm, e->stream);
    case REDUCE_SCATTER:
        return ncclReduceScatter(op->send, op->receive, op->count, type, ncclSum, e->watched.comm, e->stream);
    case BROADCAST: /* NCCL reads the first buffer on rank `from` only */
        return ncclBroadcast(op->from == world_rank(e->watched.world) ? op->send : op->receive, op->receive, op->count,
                             type, op->from, e->watched.comm, e->stream);
    case SEND_RECEIVE:
        return exchange(e, op, type);
    case BARRIER:
        return ncclAllReduce(e->token, e->token + 1, 1, ncclFloat, ncclSum, e->watched.comm, e->stream);
    default:
        return ncclAllReduce(op->send, op->receive, op->count, type, ncclSum, e->watched.comm, e->stream);
    }
}

static void make_event(cudaEvent_t *event)
{
    if (!*event)
        cuda_must(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
}

/* Queue an operation on the engine's stream, after the rank's work so far. */
static void hand_over(struct engine *e, int slot, const struct operation *operation)
{
    struct nccl_operation *handed_over = &e->watched.operation[slot];
    make_event(&e->handed[slot]);
    make_event(&handed_over->done);
    nccl_watch_hand_over(handed_over, &operation->call);
    cuda_must(cudaEventRecord(e->handed[slot], cuda_stream()), "cudaEventRecord");
    cuda_must(cudaStreamWaitEvent(e->stream, e->handed[slot], 0), "cudaStreamWaitEvent");
    nccl_watch_await(&e->watched, &handed_over->call, collective_names[operation->op.kind], ask(e, &operation->op));
    cuda_must(cudaEventRecord(handed_over->done, e->stream), "cudaEventRecord");
    handed_over->is_open = true;
}

static void take_back(struct engine *e, int slot)
{
    cuda_must(cudaStreamWaitEvent(cuda_stream(), e->watched.operation[slot].done, 0), "cudaStreamWaitEvent");
}

/* Wait for the rank's work if ranks share a GPU: they never compute beside a collective. A rank that spins for its peer may keep
 * the peer off the GPU. */
static void finish_work_if_shared(void)
{
    if (shares_gpus)
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
    if (shares_gpus)
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
