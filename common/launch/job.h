/* job: what a rank knows of the job it is part of and of the person who started it.
 *
 * Our own launcher stands between the two, and tells its ranks through the environment. */
#ifndef LOCKSTEP_JOB_H
#define LOCKSTEP_JOB_H

#include <stdbool.h>
#include <stdio.h>

/* The variables in which the launcher tells it. */
#define JOB_ARGUMENTS    "LOCKSTEP_ARGUMENTS"    /* the command line, its words ended by JOB_WORD_END */
#define JOB_BOARD        "LOCKSTEP_BOARD"        /* path of the file that is the ranks' board (flight_recorder.h) */
#define JOB_CORES        "LOCKSTEP_CORES"        /* that all ranks may use together */
#define JOB_NAME         "LOCKSTEP_NAME"         /* of the program as it was typed: who speaks in its messages */
#define JOB_OUTPUT       "LOCKSTEP_OUTPUT"       /* descriptors of the person's standard output and error */
#define JOB_PLATFORM     "LOCKSTEP_PLATFORM"     /* name of the simulated machine; absent where ranks are real */
#define JOB_PLATFORM_KEY "LOCKSTEP_PLATFORM_KEY" /* changes with its file */
#define JOB_TERMINAL     "LOCKSTEP_TERMINAL"     /* columns, is_live, has_color */
#define JOB_MODELLED     "; modelled"            /* ends the key of one that computes nothing */
#define JOB_ON_GPUS      "; on GPUs: "           /* stands in the key of this one where ranks train on GPUs */
enum { JOB_WORD_END = '\037' };

/* And one in which a person, or a test, tells where the programs for GPUs are, if not in build/lib: in nccl/ and cuda/ of
 * this folder. */
#define JOB_GPU_PROGRAMS "LOCKSTEP_GPU_PROGRAMS"

/* True in a process that a launcher started: ours, mpirun, srun or another. */
bool job_is_rank(void);

/* True where our own launcher started this rank: it keeps the deadline. */
bool job_is_watched(void);

/* The rank's command line as our launcher was given it: replaces argc and argv, and the program's name in messages. */
void job_arguments(int *argc, char ***argv);

/* The path of the program that runs, and of build/lib/FOLDER/NAME seen from there, in build/bin or build/tests. Free
 * both. */
char *job_program(void);
char *job_library(const char *folder, const char *name);

/* Starts a program of ours with an argument, which may hold anything, and options, which a shell reads; what it writes,
 * complaints included, is the file's. For pclose(). */
FILE *job_listen(const char *program, const char *argument, const char *options);

/* Ranks of the job as the launchers that we meet tell them before MPI starts; 0 where they do not. */
int job_ranks(void);

/* Whether the launcher says, before MPI starts, that all ranks are on this host. */
bool job_is_on_one_host(void);

/* Ends the program with STATUS_USAGE in one of several tasks of srun, which cannot find each other as they were started: to
 * be called where there are no ranks, or just one. */
void job_refuse_strangers(void);

/* Cores that our own launcher counted before it bound ranks to them, or that a simulated machine has; 0 under any
 * other launcher. */
int job_cores(void);

/* Name of the simulated machine, NULL where ranks are real; and what tells it from all others, "here" for this one. */
const char *job_platform(void);
const char *job_platform_key(void);

/* What the ranks know of the person's terminal. */
struct terminal {
    int columns;    /* width; 124 when unknown */
    bool is_live;   /* standard error is a terminal: a progress line may be redrawn */
    bool has_color; /* standard output is a terminal, and the person's; NO_COLOR is not set */
};
struct terminal job_terminal(void);

#endif
