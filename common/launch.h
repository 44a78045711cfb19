/* launch: from the program a person typed to the ranks of a job.
 *
 * Typed by hand, a lab starts mpirun as its child and stays as supervisor: it holds the machine's lock, keeps
 * the deadline, passes Ctrl-C on, leaves no orphan behind and turns every ending into one exit status. Under a
 * launcher the user chose, it is a rank and just runs. */
#ifndef LOCKSTEP_LAUNCH_H
#define LOCKSTEP_LAUNCH_H

#include <stdbool.h>

/* True in a process that mpirun, srun or another launcher started. */
bool launch_is_rank(void);

struct launch {
    int ranks, cores;
    double deadline_s;      /* > 0: how long the job may go without a sign of life */
    char *const *arguments; /* the program's own argv, handed to every rank */
    const char *extra;      /* one more argument, or NULL */
};

/* Starts the ranks and waits for their end. Returns the exit status to end with (enum status). */
int launch_ranks(const struct launch *launch);

/* A sign of life from the job's first rank: called when it has joined the others and before each block. */
void launch_beat(void);

/* What the ranks know of the person's terminal, since mpirun stands between them. */
struct terminal {
    int columns;    /* width; 110 when unknown */
    bool is_live;   /* standard error is a terminal: a progress line may be redrawn */
    bool has_color; /* standard output is a terminal and NO_COLOR is not set */
};
struct terminal launch_terminal(void);

#endif
