/* sweep: what all-reduces of many sizes take, each measured the same way. */
#ifndef LOCKSTEP_SWEEP_H
#define LOCKSTEP_SWEEP_H

#include "collective/collective.h"

struct world;

/* A way to carry the sums out. */
struct sweep_impl {
    allreduce_impl *sum; /* NULL: the library's */
    void *argument;
};

struct sweep {
    const double *bytes; /* (sizes), multiples of 4 */
    int sizes;
    const struct sweep_impl *way; /* (ways), or NULL: the library's alone */
    int ways;
    bool until_last;                 /* seconds until the last rank has the sum, and not the mean one */
    int warmups, repeats;            /* of every size */
    void (*between)(void *argument); /* what a rank does before each call; NULL: nothing but a meeting of all */
    void *argument;
};

/* all: bytes of the largest all-reduce for which memory is there: two buffers for each rank, in half of what is free. */
double sweep_largest(struct world *world);

/* all: sizes 4 B, 16 B, 64 B … up to `most` bytes as far as memory goes, 4 B at least, into bytes (SWEEP_SIZES_MOST). Returns
 * how many. */
enum { SWEEP_SIZES_MOST = 16 };
int sweep_sizes(struct world *world, double most, double *bytes);

/* all: after the last rank has come, seconds until the mean rank has the sum: seconds (ways, sizes), on rank 0; median over
 * repeats. `barrier` (may be NULL) receives a barrier's. Ways and sizes take turns, so that a slow moment of the machine does
 * not fall on one of them. */
void sweep_measure(struct world *world, const struct sweep *sweep, double *seconds, double *barrier);

#endif
