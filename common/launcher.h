/* launcher: what starts real ranks on this machine, Open MPI's mpirun, as the one that is installed here says of itself. All
 * that is known of its options and of the variables that configure it stands here, so that another version is one change.
 *
 * Tried with Open MPI 4.1.4, 5.0.7 and 6.0.0rc2: all of them take the same options and variables. They differ in what they
 * write, which launcher_output.h keeps apart from what the ranks write. */
#ifndef LOCKSTEP_LAUNCHER_H
#define LOCKSTEP_LAUNCHER_H

#include <stdbool.h>

/* The program, as it is looked for on the path. */
extern const char launcher_program[];

/* Asks the launcher for its version. Ends the program with STATUS_CANNOT where it is not Open MPI's. One that is missing is
 * found out when it is started. */
void launcher_check(void);

/* The first line of what the launcher answers to --version; blank when it answers nothing. Free it. */
char *launcher_version(void);

/* The options that place ranks: each bound to a core of its own, or all on all cores. NULL-terminated. */
const char *const *launcher_placing(bool has_own_cores);

/* Sets the variables that every job of ours runs with, in this process's environment. */
void launcher_set_environment(void);

/* In the child that becomes the launcher: session files and the memory that ranks share lie in `folder`. */
void launcher_share_in(const char *folder);

#endif
