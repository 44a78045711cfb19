/* Collectives under SMPI, without MPI_Iallreduce: in 3.32 it makes each rank send all its data to every other, and may crash. The
 * ranks' side processes run each started operation as a blocking one, in the order in which their rank started them. */
#include "collective/engine.h"
#include "collective/mpi_staging.h"

#include "base/memory.h"
#include "world/side_process_sim.h"
#include "world/world.h"
#include "world/world_mpi.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCKING = COLLECTIVE_STARTED_MOST }; /* the slot of blocking operations */

struct engine {
    struct world *world;
    struct mpi_stagings *messages;
    int ranks;
    int *job_rank; /* (ranks) */
    MPI_Comm comm; /* of the side processes of these ranks */
    struct order {
        MPI_Comm comm;
        struct collective_op op;
        struct mpi_staging message;
    } order[COLLECTIVE_STARTED_MOST];
    int job[COLLECTIVE_STARTED_MOST];
};

/* Give the group of these ranks of `all`, as ranges. (With MPI_Group_incl() a job of SMPI 3.32 takes 1 µs longer.) */
static MPI_Group group_of(MPI_Group all, const int *ranks, int count)
{
    int(*range)[3] = memory_new((size_t)count, sizeof *range), ranges = 0;
    for (int i = 0; i < count; i++)
        if (i > 0 && ranks[i] == ranks[i - 1] + 1)
            range[ranges - 1][1] = ranks[i];
        else
            memcpy(range[ranges++], (int[3]){ ranks[i], ranks[i], 1 }, sizeof *range);
    MPI_Group members = MPI_GROUP_NULL;
    MPI_Group_range_incl(all, ranges, range, &members);
    free(range);
    return members;
}

/* Make a communicator of the side processes of the group's ranks; runs on each of them. */
static void join_peers(void *argument, MPI_Comm peers)
{
    struct engine *engine = argument;
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Comm_group(peers, &all);
    MPI_Group members = group_of(all, engine->job_rank, engine->ranks);
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

static void do_order(void *argument, MPI_Comm peers)
{
    (void)peers;
    const struct order *order = argument;
    mpi_staging_run(&order->message, order->comm);
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
    engine->messages = mpi_staging_open(world_rank(world), world_size(world));
    engine->ranks = world_size(world);
    engine->job_rank = memory_new((size_t)engine->ranks, sizeof *engine->job_rank);
    world_ranks_in(world, world->job, engine->job_rank);
    run_on_side_process(engine, join_peers);
    return engine;
}

void engine_close(struct engine *engine)
{
    run_on_side_process(engine, leave_peers);
    mpi_staging_close(engine->messages);
    free(engine->job_rank);
    free(engine);
}

void engine_run(struct engine *engine, const struct operation *operation)
{
    const struct collective_op *op = &operation->op;
    struct mpi_staging message;
    mpi_staging_begin(engine->messages, BLOCKING, operation, &message);
    mpi_staging_run(&message, engine->world->comm);
    mpi_staging_end(engine->messages, &message, op);
}

void engine_start(struct engine *engine, int slot, const struct operation *operation)
{
    struct order *order = &engine->order[slot];
    *order = (struct order){ .comm = engine->comm, .op = operation->op };
    mpi_staging_begin(engine->messages, slot, operation, &order->message);
    engine->job[slot] = side_process_begin(side_process_engine(), do_order, order);
}

void engine_progress(struct engine *engine, int slot)
{
    (void)engine, (void)slot;
}

void engine_finish(struct engine *engine, int slot)
{
    side_process_end(side_process_engine(), engine->job[slot]);
    mpi_staging_end(engine->messages, &engine->order[slot].message, &engine->order[slot].op);
}

bool engine_runs_alone(void)
{
    return true;
}
