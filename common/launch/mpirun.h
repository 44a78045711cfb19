/* launcher: Open MPI's mpirun, which starts real ranks on this machine. Its options, and the variables that configure it, stand
 * in this file alone, so that another version needs one change. (Variables that the library reads in a rank: world_mpi.c,
 * algorithm.c.)
 *
 * Open MPI 4.1.4, 5.0.7 and 6.0.0rc2 were tried: all take the same options and variables. They differ in what they write;
 * mpirun_output.h keeps that apart from what the ranks write. */
#ifndef LOCKSTEP_LAUNCHER_H
#define LOCKSTEP_LAUNCHER_H

#include <stdbool.h>

/* The program, as it is looked for on the path. */
extern const char launcher_program[];

/* Asks mpirun for its version, and ends the program with STATUS_CANNOT unless it is Open MPI's. (A missing one is noticed when
 * it is started.) */
void mpirun_check(void);

/* The first line that `mpirun --version` prints; blank where there is none. Free it. */
char *mpirun_version(void);

/* The options that bind each rank to a core of its own, or let all ranks run on all cores. NULL-terminated. */
const char *const *mpirun_placing(bool has_own_cores);

/* Sets the variables that every job of ours runs with, in this process's environment. */
void mpirun_set_environment(void);

/* In the child that becomes mpirun: puts Open MPI's session files, and the memory that ranks share, into `folder`. */
void mpirun_share_in(const char *folder);

#endif
