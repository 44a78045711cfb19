/* launch: starts the ranks of a job and supervises them.
 *
 * A lab started by hand runs mpirun or smpirun as its child and stays as supervisor. The supervisor holds the machine's lock,
 * enforces the timeout, passes Ctrl-C on, ends orphaned ranks and turns every ending into one exit status. The lock is
 * /tmp/lockstep.lock. LOCKSTEP_LOCK names another file, for runs that share no cores (taskset) or whose speed does not matter. */
#ifndef LOCKSTEP_LAUNCH_H
#define LOCKSTEP_LAUNCH_H

#include "launch/job_command.h"

/* Start the ranks and wait for their end. Return the exit status for this program (enum status, or 128 + a signal's number). */
int launch_ranks(const struct launch *launch);

#endif
