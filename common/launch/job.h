/* job: gives a rank the properties of its job and of the user's terminal.
 *
 * Our own launcher passes these properties to its ranks in environment variables. */
#ifndef LOCKSTEP_JOB_H
#define LOCKSTEP_JOB_H

#include <stdbool.h>
#include <stdio.h>

/* Environment variables that our launcher sets for its ranks. */
#define JOB_ARGUMENTS    "LOCKSTEP_ARGUMENTS"    /* the command line; JOB_WORD_END ends each word */
#define JOB_RECORDER     "LOCKSTEP_RECORDER"     /* path of the flight recorder's file (flight_recorder.h) */
#define JOB_CORES        "LOCKSTEP_CORES"        /* cores that all ranks may use together */
#define JOB_HELPERS      "LOCKSTEP_HELPERS"      /* async helpers of each simulated rank */
#define JOB_NAME         "LOCKSTEP_NAME"         /* program name as the user typed it, for messages */
#define JOB_OUTPUT       "LOCKSTEP_OUTPUT"       /* descriptors of the user's standard output and error */
#define JOB_PLATFORM     "LOCKSTEP_PLATFORM"     /* name of the simulated machine; unset for real ranks */
#define JOB_PLATFORM_KEY "LOCKSTEP_PLATFORM_KEY" /* changes with the platform file */
#define JOB_TERMINAL     "LOCKSTEP_TERMINAL"     /* columns, is_live, has_color */
#define JOB_MODELLED     "; modelled"            /* suffix of a platform's key if nothing is computed */
#define JOB_ON_GPUS      "; on GPUs: "           /* part of this machine's key if ranks train on GPUs */
enum { JOB_WORD_END = '\037' };

/* Variable set by a user or a test: a folder whose nccl/ and cuda/ hold the GPU programs. Default: build/lib. */
#define JOB_GPU_PROGRAMS "LOCKSTEP_GPU_PROGRAMS"

/* True if a launcher started this process: ours, mpirun, srun or another. */
bool job_is_rank(void);

/* True if our own launcher started this rank. That launcher enforces the timeout. */
bool job_is_watched(void);

/* Replace argc and argv by the command line that our launcher received, and set the program's name for messages. */
void job_arguments(int *argc, char ***argv);

/* Return the path of this program, in build/bin or build/tests, and the path of build/lib/FOLDER/NAME relative to that program.
 * Free both. */
char *job_program(void);
char *job_library(const char *folder, const char *name);

/* Start a program with one argument, which may hold any characters, and options, which a shell parses. Return a stream of the
 * program's standard output and error. Close the stream with pclose(). */
FILE *job_listen(const char *program, const char *argument, const char *options);

/* Return the world size from the launcher's environment, before MPI starts; 0 if the launcher does not set one. */
int job_ranks(void);

/* True if the launcher's environment shows, before MPI starts, that all ranks are on this host. */
bool job_is_on_one_host(void);

/* End the program with STATUS_USAGE if srun started several tasks that MPI does not connect. Call this in a process that is no
 * rank, or the only rank. */
void job_refuse_strangers(void);

/* Return the cores that our launcher counted before binding ranks, or a simulated machine's cores; 0 under another launcher. */
int job_cores(void);

/* Return the number of async helpers of each simulated rank. */
int job_helpers(void);

/* Return the name of the simulated machine, NULL for real ranks. Return the key that identifies a machine, "here" for this one. */
const char *job_platform(void);
const char *job_platform_key(void);

/* The user's terminal. */
struct terminal {
    int columns;    /* width; 124 if unknown */
    bool is_live;   /* standard error is a terminal; a progress line may be redrawn */
    bool has_color; /* standard output is the user's terminal; NO_COLOR is not set */
};
struct terminal job_terminal(void);

#endif
