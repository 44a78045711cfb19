#include "collective/engine.h"
#include "collective/mpi_staging.h"

#include "base/hot.h"
#include "base/memory.h"
#include "device/device.h"
#include "world/world.h"
#include "world/world_mpi.h"

#include <stdlib.h>

enum { BLOCKING = COLLECTIVE_STARTED_MOST }; /* the slot of blocking operations */

struct engine {
    struct world *world;
    struct mpi_stagings *messages;
    struct started {
        struct collective_op op;
        struct mpi_staging message;
        MPI_Request request[2]; /* of a message, to send and to receive */
    } started[COLLECTIVE_STARTED_MOST];
    bool has_started;
};

const char *collective_backend(void)
{
    return "mpi";
}

struct engine *engine_open(struct world *world)
{
    struct engine *engine = memory_new(1, sizeof *engine);
    engine->world = world;
    engine->messages = mpi_staging_open(world_rank(world), world_size(world));
    return engine;
}

void engine_close(struct engine *engine)
{
    mpi_staging_close(engine->messages);
    if (engine->has_started)
        memory_keep_freed(false);
    free(engine);
}

HOT void engine_run(struct engine *engine, const struct operation *operation)
{
    const struct collective_op *op = &operation->op;
    if (op->kind == BARRIER)
        device_wait();
    struct mpi_staging message;
    mpi_staging_begin(engine->messages, BLOCKING, operation, &message);
    mpi_staging_run(&message, engine->world->comm);
    mpi_staging_end(engine->messages, &message, op);
}

static void start(const struct mpi_staging *m, MPI_Comm comm, MPI_Request request[2])
{
    request[1] = MPI_REQUEST_NULL;
    switch (m->kind) {
    case ALL_REDUCE:
        MPI_Iallreduce(m->send, m->receive, m->count, m->type, m->add, comm, request);
        break;
    case ALL_GATHER:
        MPI_Iallgather(m->send, m->count, m->type, m->receive, m->count, m->type, comm, request);
        break;
    case REDUCE_SCATTER:
        MPI_Ireduce_scatter_block(m->send, m->receive, m->count, m->type, m->add, comm, request);
        break;
    case BROADCAST:
        MPI_Ibcast(m->receive, m->count, m->type, m->from, comm, request);
        break;
    case SEND_RECEIVE:
        MPI_Irecv(m->receive, m->received, m->type, m->from, 0, comm, &request[0]);
        MPI_Isend(m->send, m->sent, m->type, m->to, 0, comm, &request[1]);
        break;
    default:
        MPI_Ibarrier(comm, request);
    }
}

/* Keep freed memory in the heap: Open MPI allocates as many bytes again for each started all-reduce. If these bytes went back to the
 * kernel, each step would take page faults on them. A step with 128 MiB in buckets of 25 MiB then took 126 ms instead of 72 to
 * 78 (two ranks, AMD EPYC, 2026-11-22). */
void engine_start(struct engine *engine, int slot, const struct operation *operation)
{
    if (!engine->has_started)
        memory_keep_freed(true);
    engine->has_started = true;
    if (operation->op.kind == BARRIER)
        device_wait();
    struct started *s = &engine->started[slot];
    s->op = operation->op;
    mpi_staging_begin(engine->messages, slot, operation, &s->message);
    start(&s->message, engine->world->comm, s->request);
}

void engine_progress(struct engine *engine, int slot)
{
    int done = 0;
    MPI_Testall(2, engine->started[slot].request, &done, MPI_STATUSES_IGNORE);
}

void engine_finish(struct engine *engine, int slot)
{
    struct started *s = &engine->started[slot];
    MPI_Waitall(2, s->request, MPI_STATUSES_IGNORE);
    mpi_staging_end(engine->messages, &s->message, &s->op);
}

bool engine_runs_alone(void)
{
    return false; /* Open MPI makes progress only inside its calls */
}
