/* launch: from the program a person typed to the ranks of a job.
 *
 * Typed by hand, a lab starts mpirun or smpirun as its child and stays as supervisor: it holds the machine's lock, keeps
 * the deadline, passes Ctrl-C on, leaves no orphan behind and turns every ending into one exit status. The lock is
 * /tmp/lockstep.lock, or the file that LOCKSTEP_LOCK names: for runs that share no cores (taskset), or whose speed nobody asks. */
#ifndef LOCKSTEP_LAUNCH_H
#define LOCKSTEP_LAUNCH_H

#include "launch/job_command.h"

/* Starts the ranks and waits for their end. Returns the exit status to end with (enum status). */
int launch_ranks(const struct launch *launch);

#endif
