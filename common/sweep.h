/* sweep: what all-reduces of many sizes take, each measured the same way. */
#ifndef LOCKSTEP_SWEEP_H
#define LOCKSTEP_SWEEP_H

struct world;

struct sweep {
    const double *bytes; /* (sizes), multiples of 4 */
    int sizes;
    int warmups, repeats;            /* of every size */
    void (*between)(void *argument); /* what a rank does before each call; NULL: nothing but a meeting of all */
    void *argument;
};

/* all: bytes of the largest all-reduce for which memory is there: two buffers for each rank, in half of what is free. */
double sweep_largest(struct world *world);

/* all: after the last rank has come, seconds until the mean rank has the sum: seconds (sizes), on rank 0; median over
 * repeats. `barrier` (may be NULL) receives a barrier's. Sizes take turns, so that a slow moment of the machine does not
 * fall on one of them. */
void sweep_measure(struct world *world, const struct sweep *sweep, double *seconds, double *barrier);

#endif
