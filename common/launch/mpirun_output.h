/* mpirun_output: passes the ranks' output on to the terminal and holds the launcher's own messages back (mpirun_filter.h). Both
 * outputs arrive through the same pipes. If a rank fails, the launcher prints many lines where the supervisor prints one.
 *
 * The supervisor quotes the launcher's messages if a job fails and no rank printed the reason. All other output is passed on at
 * once. (Options that silence the launcher differ between versions.) To see everything: mpirun -np 4 build/bin/01_straggler. */
#ifndef LOCKSTEP_MPIRUN_OUTPUT_H
#define LOCKSTEP_MPIRUN_OUTPUT_H

#include <stdbool.h>

struct mpirun_output;

/* Create pipes for a job's standard output and error, or end the program. */
struct mpirun_output *mpirun_output_open(void);

/* Redirect standard output and error into the pipes. Call this in the child, before the exec of the launcher. */
void mpirun_output_enter(struct mpirun_output *output);

/* Start a thread that passes output on. Call this in the supervisor, after the fork. */
void mpirun_output_follow(struct mpirun_output *output);

/* Pass on the remaining output and end the thread. Call this after all processes of the job have ended. */
void mpirun_output_finish(struct mpirun_output *output);

/* Return the launcher's messages as one line, blank for none, and true if ranks wrote to standard error. Call these after
 * mpirun_output_finish(). */
const char *mpirun_output_words(const struct mpirun_output *output);
bool mpirun_output_has_ranks(const struct mpirun_output *output);

void mpirun_output_close(struct mpirun_output *output);

#endif
