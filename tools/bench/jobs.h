/* jobs: MPI programs that the benchmark starts: bench_ranks (ranks/) and labs. Each runs in its own process, so the benchmark's
 * environment, memory and children stay unchanged. */
#ifndef LOCKSTEP_BENCH_JOBS_H
#define LOCKSTEP_BENCH_JOBS_H

#include "bench.h"

/* A job of bench_ranks, on this machine or on a simulated one. */
struct ranks_job {
    const char *name; /* value of --job */
    int ranks, steps;
    const char *products; /* file of the fastest products, for the jobs `products` and `steps`; else NULL */
    const char *platform; /* simulated machine, for the job `plain` only; NULL: this machine */
};

/* Run the job bench_starts() times, each in new processes, and add a row per pair that it measured; none if it cannot run here. A
 * start counts by its medians: turns within a process are more alike than processes, whose code and memory have other addresses.
 * All functions of this header that start a process end the program with STATUS_WRONG if it fails, except jobs_lab() with `said`. */
void jobs_add_rows(struct bench *bench, const struct ranks_job *job);

/* Resources used by a process and all its children, from start to end. */
struct ending {
    int status;
    double seconds;    /* wall time; this and the next two are NaN if the process could not run here */
    double busy;       /* CPU seconds of all processes */
    double most_bytes; /* peak resident memory of the largest process */
};
/* Run the job once and discard its results. */
struct ending jobs_run(const struct bench *bench, const struct ranks_job *job);

/* Return the folder of this program and of the labs, build/bin. Free it. */
char *jobs_bin(void);

/* Run a lab. `format` gives its arguments, one a line. `said`: a file for its output, and the lab may fail; NULL: discard the output. */
struct ending jobs_lab(const char *lab, const char *said, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
