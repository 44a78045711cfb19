/* side_process_sim: runs work in simulated processes beside a rank, on its host. Under SMPI a rank cannot have threads, and
 * nonblocking collectives do not progress by themselves. A side process serves for both. A side process shares the rank's core and
 * clock, and also its memory, because all simulated processes are in one real process.
 *
 * A rank has s of them: an engine and job_helpers() helpers. Of (1 + s) x n simulated processes the first n are the ranks. Process k x n
 * + r is the k-th side process of rank r. */
#ifndef LOCKSTEP_SIDE_PROCESS_SIM_H
#define LOCKSTEP_SIDE_PROCESS_SIM_H

#include <mpi.h>
#include <stdbool.h>

struct side_process;

/* Split ranks from side processes; all processes call this first. On ranks, return the communicator of all ranks. Side processes
 * do not return; each runs jobs until side_process_stop() and ends. */
MPI_Comm side_process_start(void);

/* End this rank's side processes. */
void side_process_stop(void);

/* Return this rank's communication engine, and its async helpers from 0. */
struct side_process *side_process_engine(void);
struct side_process *side_process_helper(int which);
int side_process_helpers(void);

/* Start a job without waiting: work(context, peers) runs beside this rank. `peers` is the communicator of all ranks' side processes
 * with the same index. A side process runs its jobs one after another. Return the job's number. */
int side_process_begin(struct side_process *process, void (*work)(void *context, MPI_Comm peers), void *context);

/* Wait until that job is done. */
void side_process_end(struct side_process *process, int job);

/* True if an async helper has a job for which the rank has not waited yet. */
bool side_process_helps(void);

/* Return the number of times that this process has begun or ended jobs: each time others may have computed, in no simulated time. */
unsigned side_process_yields(void);

#endif
