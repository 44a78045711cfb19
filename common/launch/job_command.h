/* job_command: builds the command line of a job, for mpirun or smpirun, and sets the environment of its ranks (job.h). */
#ifndef LOCKSTEP_JOB_COMMAND_H
#define LOCKSTEP_JOB_COMMAND_H

#include "launch/platform.h"
#include "launch/scratch.h"

#include <stdbool.h>

struct launch {
    int ranks, cores;
    double timeout;                  /* seconds until the first heartbeat; each heartbeat sets the next timeout */
    const char *program;             /* that every rank runs */
    const char *const *arguments;    /* of every rank, without the program's name; NULL-terminated */
    const struct platform *platform; /* machine to simulate; NULL: real ranks under mpirun */
    int helpers;                     /* async helpers of each simulated rank; 0: PLATFORM_HELPERS */
    bool is_plain;                   /* program of plain MPI: simulated ranks have no side processes */
    bool is_on_gpus;                 /* real ranks train on GPUs and share all cores */
    bool is_silent;                  /* discard the ranks' standard output */
};

enum { COMMAND_WORDS_MOST = 32 };

struct job_command {
    char *word[COMMAND_WORDS_MOST + 1]; /* NULL-terminated, for execvp() */
    int words;
    int hosts;              /* descriptor of smpirun's hostfile, open while the job runs; -1: none */
    struct scratch scratch; /* folder for files that real ranks share */
};

/* Set this process's environment for the job and return the job's command line. End the program if the disk space for the job's
 * temporary files is missing. Release the command with job_command_drop(). */
struct job_command job_command_for(const struct launch *launch);
void job_command_drop(struct job_command *command);

/* Return a path under which child processes can open a descriptor of this process. Free the path. */
char *job_command_path_of(int descriptor);

#endif
