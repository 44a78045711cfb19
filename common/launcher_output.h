/* launcher_output: what a job writes, on its way to the person. Ranks write through their launcher, whose own words come in
 * between: when a rank fails, it explains at length what the supervisor says in one line.
 *
 * Open MPI's launchers put their words between two rows of dashes, or on a line that begins with a bracket, as the library in
 * the ranks does. Those are kept back here, to be quoted when a job ends and no rank has said why; all else is passed on as it
 * comes. (Options that silence the launcher differ from version to version. Who wants to read it all starts the lab by mpirun.) */
#ifndef LOCKSTEP_LAUNCHER_OUTPUT_H
#define LOCKSTEP_LAUNCHER_OUTPUT_H

#include <stdbool.h>

struct launcher_output;

/* Pipes for a job's standard output and error. Ends the program where there are none to be had. */
struct launcher_output *launcher_output_open(void);

/* In the child, before it becomes the launcher: its standard output and error are these. */
void launcher_output_enter(struct launcher_output *output);

/* In the supervisor, once the child was made: passes on what comes, in a thread of its own. */
void launcher_output_follow(struct launcher_output *output);

/* When all processes of the job have ended: passes on what is left, and ends the thread. */
void launcher_output_finish(struct launcher_output *output);

/* After that: the launcher's own words as one line, blank for none; and whether ranks wrote to standard error. */
const char *launcher_output_words(const struct launcher_output *output);
bool launcher_output_has_ranks(const struct launcher_output *output);

void launcher_output_close(struct launcher_output *output);

#endif
