/* bench: shared by the parts of the benchmark. */
#ifndef LOCKSTEP_BENCH_H
#define LOCKSTEP_BENCH_H

#include "rows.h"

#include <stdbool.h>

struct bench_options {
    int rounds; /* starts of each pair, and turns within a start; 0: BENCH_STARTS, and as many turns as the pair needs */
    int first;  /* seed of the first hidden fault */
    bool is_toy;        /* small models and few simulated ranks: every row comes out soon, and compares nothing */
    int part;           /* 0: all, else 1 + index in the list of parts */
    const char *torch;  /* another Python with PyTorch; NULL: none; "none": no PyTorch at all */
    const char *system; /* the system's Python; NULL: look in the usual places; "none": leave it out */
    const char *root;   /* folder whose proc/ shows what others took; "": this machine's */
    const char *run;    /* id of this run; NULL: make one */
    const char *out;
};

struct bench {
    struct bench_options options;
    struct rows rows;
    bool went_wrong; /* a lab failed in a round, perhaps the slowest; its rows lack that round */
};

/* Starts of each pair. A start is a new process of ours and a new one of the reference (ranks/ranks.h: where one process has both).
 * Turns within a process are autocorrelated, so that their interval would be too narrow; starts are independent. */
enum { BENCH_STARTS = 12 };

/* Return the number of starts: --rounds, or else BENCH_STARTS. */
int bench_starts(const struct bench *bench);

/* The parts, in the order in which they run. Each compares two things in turns and begins with rows_heading(). A part that cannot
 * run here prints the reason on one line and adds no row. */
void bench_steps(struct bench *bench);     /* a training step against its lower bound */
void bench_harness(struct bench *bench);   /* cost of instrumentation */
void bench_sums(struct bench *bench);      /* an all-reduce through the harness against MPI alone */
void bench_waiting(struct bench *bench);   /* a step while other ranks wait against while they sleep */
void bench_start(struct bench *bench);     /* a whole run of a lab against MPI alone */
void bench_memory(struct bench *bench);    /* resident memory of a rank */
void bench_simulated(struct bench *bench); /* time and memory of a simulated rank */
void bench_dedicated(struct bench *bench); /* labs on simulated dedicated cores against real ones */
void bench_tokens(struct bench *bench);    /* ways to load tokens */
void bench_triage(struct bench *bench);    /* hidden faults of lab 07 and its verdicts, on a modelled machine */
void bench_triage_here(struct bench *bench);
void bench_breaks(struct bench *bench); /* mistakes of lab 09, and their diagnoses */
void bench_labs(struct bench *bench);   /* the published cases against PyTorch */
void bench_ddp(struct bench *bench);    /* lab 09 against PyTorch's DistributedDataParallel */

#endif
