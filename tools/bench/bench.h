/* bench: what its parts share. */
#ifndef LOCKSTEP_BENCH_H
#define LOCKSTEP_BENCH_H

#include "rows.h"

#include <stdbool.h>

struct bench_options {
    int rounds;        /* 0: as many as a part takes by itself */
    int part;          /* 0: all, else 1 + its place in the list */
    const char *torch; /* NULL: where it usually is */
    const char *out;
};

struct bench {
    struct bench_options options;
    struct rows rows;
    bool went_wrong; /* a lab failed in a round: its rows lack what may have been the slowest */
};

/* Turns of a pair that usually takes so many. */
int bench_rounds(const struct bench *bench, int usual);

/* The parts, in the order in which they run. Each sets one kind of thing beside another, in turns; it begins with
 * rows_heading(). One that cannot run here says why in a line, and adds no row. */
void bench_steps(struct bench *bench);     /* a training step against its floor */
void bench_harness(struct bench *bench);   /* what looking costs */
void bench_sums(struct bench *bench);      /* an all-reduce through the harness, and by MPI alone */
void bench_waiting(struct bench *bench);   /* a step while others wait, and while they sleep */
void bench_start(struct bench *bench);     /* a lab from start to end, and MPI alone */
void bench_memory(struct bench *bench);    /* what a rank keeps */
void bench_simulated(struct bench *bench); /* a simulated rank: its time and its memory */
void bench_labs(struct bench *bench);      /* the published cases, and PyTorch's */

#endif
