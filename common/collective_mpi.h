/* collective_mpi: what the files of an MPI collective share, and nobody else includes. Sums that block are alike for every
 * MPI (collective_calls.c); how a started one gets on is the backend's: collective_mpi.c, collective_sim.c. */
#ifndef LOCKSTEP_COLLECTIVE_MPI_H
#define LOCKSTEP_COLLECTIVE_MPI_H

#include "world_mpi.h"

#include <stdbool.h>

/* What a sum is to MPI. */
struct sum {
    const void *send;
    void *receive;
    int count;
    MPI_Datatype type;
    MPI_Op add;
};

/* What lets sums get on by themselves; one per collective. */
struct engine;
struct engine *engine_open(struct world *world);
void engine_close(struct engine *engine);

/* At most COLLECTIVE_STARTED_MOST at one time, each in a slot of its own. */
void engine_start(struct engine *engine, int slot, const struct sum *sum);
/* Gives it a chance to move. */
void engine_progress(struct engine *engine, int slot);
/* Returns when it is done. */
void engine_finish(struct engine *engine, int slot);
/* Whether sums move without engine_progress(). */
bool engine_runs_alone(void);

#endif
