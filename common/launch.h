/* launch: from the program a person typed to the ranks of a job.
 *
 * Typed by hand, a lab starts mpirun or smpirun as its child and stays as supervisor: it holds the machine's lock, keeps
 * the deadline, passes Ctrl-C on, leaves no orphan behind and turns every ending into one exit status. */
#ifndef LOCKSTEP_LAUNCH_H
#define LOCKSTEP_LAUNCH_H

#include "platform.h"

struct launch {
    int ranks, cores;
    double deadline_s;               /* > 0: how long the job may go without a sign of life */
    const char *program;             /* what every rank runs */
    const char *const *arguments;    /* of every rank, without the program's name; NULL-terminated */
    const struct platform *platform; /* the machine to simulate; NULL: real ranks, by mpirun */
    bool is_silent;                  /* what it writes to standard output is not for people */
};

/* Starts the ranks and waits for their end. Returns the exit status to end with (enum status). */
int launch_ranks(const struct launch *launch);

#endif
