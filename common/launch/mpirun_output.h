/* launcher_output: passes what the ranks write on to the terminal. Ranks write through their launcher, and the launcher writes
 * too: when a rank fails, it explains at length what the supervisor says in one line.
 *
 * Open MPI writes between two rows of dashes, or on lines that begin with "[host:process]". These are kept back here, and quoted
 * when a job ends and no rank has said why. All else is passed on as it comes. (Options that silence the launcher differ from
 * version to version.) To see everything: mpirun -np 4 build/bin/01_straggler. */
#ifndef LOCKSTEP_LAUNCHER_OUTPUT_H
#define LOCKSTEP_LAUNCHER_OUTPUT_H

#include <stdbool.h>

struct launcher_output;

/* Makes pipes for a job's standard output and error, or ends the program. */
struct launcher_output *mpirun_output_open(void);

/* In the child, before it becomes the launcher: its standard output and error are these. */
void mpirun_output_enter(struct launcher_output *output);

/* In the supervisor, once the child was made: passes on what comes, in a thread of its own. */
void mpirun_output_follow(struct launcher_output *output);

/* When all processes of the job have ended: passes on what is left, and ends the thread. */
void mpirun_output_finish(struct launcher_output *output);

/* After that: the launcher's own words as one line, blank for none; and whether ranks wrote to standard error. */
const char *mpirun_output_words(const struct launcher_output *output);
bool mpirun_output_has_ranks(const struct launcher_output *output);

void mpirun_output_close(struct launcher_output *output);

#endif
