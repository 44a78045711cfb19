/* jobs: programs of ranks that the benchmark starts: its own (ranks/), and labs. Each is a process beside this one, which
 * keeps its environment, its memory and its children as they were. */
#ifndef LOCKSTEP_BENCH_JOBS_H
#define LOCKSTEP_BENCH_JOBS_H

#include "bench.h"

enum { JOBS_STARTS_MOST = 20 };

/* What bench_ranks is to do, on this machine's cores or on those of a simulated one. */
struct ranks_job {
    const char *name; /* the word of its --job */
    int ranks, steps;
    int starts; /* of several (up to JOBS_STARTS_MOST) the medians count, as many as the benchmark has rounds; 0: one start */
    const char *platform; /* the machine to simulate, which only plain ranks are for; NULL: this one */
};

/* Runs it and adds a row for each pair that took turns in it; none where it cannot run here. All these but the
 * last end the program with STATUS_WRONG where a process went wrong. */
void jobs_add_rows(struct bench *bench, const struct ranks_job *job);

/* What a process and all its children took, from its start to its end. */
struct ending {
    int status;
    double seconds;    /* these three are NaN where it could not run here */
    double busy;       /* seconds of processors, of all processes together */
    double most_bytes; /* of the largest process */
};
struct ending jobs_run(const struct ranks_job *job);

/* The same of a lab of build/bin with these words, NULL-terminated; what it says is not for people. */
struct ending jobs_run_lab(const char *lab, const char *const *words);

/* The same of one that may fail: `said` is a file for what it says. */
struct ending jobs_try_lab(const char *lab, const char *const *words, const char *said);

#endif
