#include "collective_mpi.h"
#include "collective.h"

#include "memory.h"

#include <stdlib.h>

struct engine {
    struct world *world;
    MPI_Request request[COLLECTIVE_STARTED_MOST];
};

struct engine *engine_open(struct world *world)
{
    struct engine *engine = memory_new(1, sizeof *engine);
    engine->world = world;
    return engine;
}

void engine_close(struct engine *engine)
{
    free(engine);
}

void engine_start(struct engine *engine, int slot, const struct sum *s)
{
    MPI_Iallreduce(s->send, s->receive, s->count, s->type, s->add, engine->world->comm, &engine->request[slot]);
}

void engine_progress(struct engine *engine, int slot)
{
    int done = 0;
    if (engine->request[slot] != MPI_REQUEST_NULL)
        MPI_Test(&engine->request[slot], &done, MPI_STATUS_IGNORE);
}

void engine_finish(struct engine *engine, int slot)
{
    MPI_Wait(&engine->request[slot], MPI_STATUS_IGNORE);
}

bool engine_runs_alone(void)
{
    return false; /* Open MPI moves messages only inside its calls */
}
