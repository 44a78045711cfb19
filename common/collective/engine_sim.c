/* Sums under SMPI, without MPI_Iallreduce: in 3.32 it makes each rank send all its data to every other, and may crash. The ranks'
 * side processes run each started sum as a blocking one. */
#include "collective/engine.h"
#include "collective/mpi_staging.h"

#include "base/memory.h"
#include "world/side_process_sim.h"
#include "world/world.h"
#include "world/world_mpi.h"

#include <stdlib.h>

enum { BLOCKING = COLLECTIVE_STARTED_MOST }; /* the slot of blocking sums */

struct engine {
    struct world *world;
    struct mpi_stagings *messages;
    int ranks;
    MPI_Comm comm; /* of the side processes of these ranks */
    struct order {
        MPI_Comm comm;
        struct mpi_staging message;
    } order[COLLECTIVE_STARTED_MOST];
    int job[COLLECTIVE_STARTED_MOST];
};

/* Make a communicator of the first `ranks` side processes; runs on each of them. */
static void join_peers(void *argument, MPI_Comm peers)
{
    struct engine *engine = argument;
    MPI_Group all = MPI_GROUP_NULL, members = MPI_GROUP_NULL;
    MPI_Comm_group(peers, &all);
    MPI_Group_range_incl(all, 1, (int[1][3]){ { 0, engine->ranks - 1, 1 } }, &members);
    MPI_Comm_create_group(peers, members, 0, &engine->comm);
    MPI_Group_free(&members);
    MPI_Group_free(&all);
}

static void leave_peers(void *argument, MPI_Comm peers)
{
    (void)peers;
    struct engine *engine = argument;
    MPI_Comm_free(&engine->comm);
}

static void do_sum(void *argument, MPI_Comm peers)
{
    (void)peers;
    const struct order *order = argument;
    const struct mpi_staging *m = &order->message;
    MPI_Allreduce(m->send, m->receive, m->count, m->type, m->add, order->comm);
}

static void run_on_side_process(struct engine *engine, void (*work)(void *argument, MPI_Comm peers))
{
    side_process_end(side_process_engine(), side_process_begin(side_process_engine(), work, engine));
}

const char *collective_backend(void)
{
    return "sim";
}

struct engine *engine_open(struct world *world)
{
    struct engine *engine = memory_new(1, sizeof *engine);
    engine->world = world;
    engine->messages = mpi_staging_open();
    engine->ranks = world_size(world);
    run_on_side_process(engine, join_peers);
    return engine;
}

void engine_close(struct engine *engine)
{
    run_on_side_process(engine, leave_peers);
    mpi_staging_close(engine->messages);
    free(engine);
}

void engine_sum(struct engine *engine, const struct sum *sum)
{
    struct mpi_staging m = mpi_staging_begin(engine->messages, BLOCKING, sum);
    MPI_Allreduce(m.send, m.receive, m.count, m.type, m.add, engine->world->comm);
}

void engine_barrier(struct engine *engine, int sequence, int step)
{
    (void)sequence, (void)step;
    MPI_Barrier(engine->world->comm);
}

void engine_start(struct engine *engine, int slot, const struct sum *sum)
{
    engine->order[slot] =
        (struct order){ .comm = engine->comm, .message = mpi_staging_begin(engine->messages, slot, sum) };
    engine->job[slot] = side_process_begin(side_process_engine(), do_sum, &engine->order[slot]);
}

void engine_progress(struct engine *engine, int slot)
{
    (void)engine, (void)slot;
}

void engine_finish(struct engine *engine, int slot)
{
    side_process_end(side_process_engine(), engine->job[slot]);
}

bool engine_runs_alone(void)
{
    return true;
}
