/* bench: what its parts share. */
#ifndef LOCKSTEP_BENCH_H
#define LOCKSTEP_BENCH_H

#include "rows.h"

struct bench_options {
    int rounds;        /* 0: as many as a part takes by itself */
    int part;          /* 0: all, else 1 + its place in the list */
    const char *torch; /* NULL: where it usually is */
    const char *out;
};

struct bench {
    struct bench_options options;
    struct rows rows;
};

/* Turns of a pair that usually takes so many. */
int bench_rounds(const struct bench *bench, int usual);

/* The parts, in the order in which they run. Each sets one kind of thing beside another, in turns; it begins with
 * rows_heading(). One that cannot run here says why in a line, and adds no row. */
void bench_harness(struct bench *bench); /* what looking costs */
void bench_labs(struct bench *bench);    /* the published cases against PyTorch */

#endif
