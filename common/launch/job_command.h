/* command: what is started for a job of ranks: mpirun or smpirun, with its words, and the environment in which the ranks
 * find what the program was told (job.h). */
#ifndef LOCKSTEP_COMMAND_H
#define LOCKSTEP_COMMAND_H

#include "launch/platform.h"
#include "launch/scratch.h"

#include <stdbool.h>

struct launch {
    int ranks, cores;
    double allowed;                  /* seconds until the first sign of life; each says when the next is due */
    const char *program;             /* what every rank runs */
    const char *const *arguments;    /* of every rank, without the program's name; NULL-terminated */
    const struct platform *platform; /* the machine to simulate; NULL: real ranks, by mpirun */
    bool is_plain;                   /* a program of MPI alone: simulated ranks have no companions beside them */
    bool is_on_gpus;                 /* real ranks train on GPUs, and only share the cores */
    bool is_silent;                  /* what it writes to standard output is not for people */
};

enum { COMMAND_WORDS_MOST = 32 };

struct job_command {
    char *word[COMMAND_WORDS_MOST + 1]; /* NULL-terminated, as execvp() takes them */
    int words;
    int hosts;              /* descriptor of smpirun's hostfile, -1 for none: open as long as the job runs */
    struct scratch scratch; /* of what real ranks share */
};

/* Sets this process's environment for the job's. Ends the program where there is no room for what the job keeps while it
 * runs. Release with job_command_drop(). */
struct job_command job_command_for(const struct launch *launch);
void job_command_drop(struct job_command *command);

/* The path under which our children find an open descriptor of this process. Free it. */
char *job_command_path_of(int descriptor);

#endif
