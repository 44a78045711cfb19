/* laps: local steps of a rank, without any collective, on batches of several shapes that take turns. So a slow moment of the machine
 * affects all shapes alike, and not the difference between them.
 *
 * A visit is what a shape gets in a turn: one lap, or as many short ones as fill its time. A visit that other programs or the virtual
 * machine's host disturbed is repeated, at most twice as many turns in all. Only that disturbance decides, never the time of a lap. */
#ifndef LOCKSTEP_LAPS_H
#define LOCKSTEP_LAPS_H

#include "card/card.h"
#include "model/shape_bench.h"

#include <stdbool.h>

struct world;

struct lap_plan {
    int first, count; /* shapes of the bench */
    int turns;
    double seconds; /* least time of a visit, if a few dozen laps fill it */
};

struct lap_times {
    struct work work[SHAPES_MOST + 1];        /* (count) */
    struct local_times mean[SHAPES_MOST + 1]; /* (count) over the laps of all ranks */
    double jitter;                            /* mean over laps of (slowest rank - mean rank) */
};

/* all of `together`, or one rank alone with NULL: run laps on every rank at once. `world` gets heartbeats. The times are on rank 0. */
struct lap_times laps_measure(struct shape_bench *bench, struct world *world, struct world *together,
                              const struct lap_plan *plan);

#endif
