/* mpirun: sets the options and environment variables of Open MPI's mpirun, which starts real ranks on this machine. Only mpirun.c
 * contains these, so that another version needs one change. (Variables that the library reads in a rank: world_mpi.c, algorithm.c.)
 *
 * Open MPI 4.1.4, 5.0.7 and 6.0.0rc2 were tested and accept the same options and variables. These versions differ in mpirun's own
 * output, which mpirun_output.h separates from the ranks' output. */
#ifndef LOCKSTEP_MPIRUN_H
#define LOCKSTEP_MPIRUN_H

#include <stdbool.h>

/* Program name, searched on the path. */
extern const char mpirun_program[];

/* End the program with STATUS_CANNOT if `mpirun --version` does not name Open MPI. (launch_ranks() reports a missing mpirun.) */
void mpirun_check(void);

/* Return the first line that `mpirun --version` prints; blank if mpirun is missing or prints nothing. Only the first call starts
 * mpirun. */
const char *mpirun_version(void);

/* Return the options that bind each rank to its own core, or let all ranks run on all cores. NULL-terminated. */
const char *const *mpirun_placing(bool has_own_cores);

/* Set the variables of all jobs in this process's environment. */
void mpirun_set_environment(void);

/* Put Open MPI's session files and the ranks' shared memory into `folder`. Call this in the child that becomes mpirun. */
void mpirun_share_in(const char *folder);

#endif
