/* side_process_sim: the simulated processes that stand beside a rank, on its host. Under SMPI a rank can have no thread of
 * its own, and started collectives do not move by themselves; a companion is what both need: a second pair of hands that
 * shares the rank's memory (all simulated processes live in one real one), its core and its clock.
 *
 * Of (1 + PLATFORM_SIDE_PROCESSES) x n simulated processes the first n are the ranks; process k x n + r is the k-th companion
 * of rank r. */
#ifndef LOCKSTEP_COMPANION_SIM_H
#define LOCKSTEP_COMPANION_SIM_H

#include <mpi.h>
#include <stdbool.h>

struct side_process;

/* Every process, at first: returns on the ranks, with the communicator they share; companions serve until
 * side_process_stop() and end. */
MPI_Comm side_process_start(void);

/* Sends this rank's companions home. */
void side_process_stop(void);

/* This rank's engine, and its helpers from 0. */
struct side_process *side_process_engine(void);
struct side_process *side_process_helper(int which);

/* Hands one job over and goes on: work(context, peers) runs beside this rank, `peers` being the communicator of all
 * ranks' companions of that kind. Jobs are done one after another. Returns the job's number. */
int side_process_begin(struct side_process *companion, void (*work)(void *context, MPI_Comm peers), void *context);

/* Waits until that job is done. */
void side_process_end(struct side_process *companion, int job);

/* Whether any helper was given a job that was not waited for yet. */
bool side_process_helps(void);

#endif
