/* sweep: times of all-reduces of many sizes, all measured in the same way. */
#ifndef LOCKSTEP_SWEEP_H
#define LOCKSTEP_SWEEP_H

#include "collective/collective.h"

struct world;

/* An implementation of the all-reduce. */
struct sweep_impl {
    allreduce_impl *sum; /* NULL: the library's */
    void *argument;
};

struct sweep {
    const double *bytes; /* (sizes), multiples of 4 */
    int sizes;
    const struct sweep_impl *way; /* (ways), or NULL: the library's only */
    int ways;
    bool until_last;                 /* measure until the last rank has the sum, not the mean rank */
    int warmups, repeats;            /* per size */
    void (*between)(void *argument); /* runs on each rank before each call; NULL: a barrier runs instead */
    void *argument;
};

/* all: return the bytes of the largest all-reduce that fits on every host: two buffers per rank, in half of the free memory. */
double sweep_largest(struct world *world);

/* all: write sizes 4 B, 16 B, 64 B … up to `most` bytes and as far as memory goes, at least 4 B, to bytes (SWEEP_SIZES_MOST).
 * Return their number. */
enum { SWEEP_SIZES_MOST = 16 };
int sweep_sizes(struct world *world, double most, double *bytes);

/* all: measure the seconds from the last rank's arrival until the mean rank has the sum, as median over repeats. The result is
 * seconds (ways, sizes) on rank 0; `barrier` (may be NULL) receives a barrier's. Ways and sizes take turns, so that a slow moment
 * of the machine does not affect only one of them. */
void sweep_measure(struct world *world, const struct sweep *sweep, double *seconds, double *barrier);

#endif
