/* laps: local steps of a rank, without any collective, on batches of several shapes that take turns. So a slow moment of the machine
 * affects all shapes alike, and not the difference between them. A lap's passes and update take as long after other shapes as after its
 * own, within the noise of 4 %; a fetch takes up to 40 % less, because a turn begins with the same samples, but that is below 0.1 % of the
 * step (published models, CPU time, means of 80 laps, 2026-11-23).
 *
 * A visit is what a shape gets in a turn: one lap, or as many short ones as fill the visit's time. A visit that other programs or the
 * virtual machine's host disturbed is repeated, within twice as many turns (visits.h). Only that decides, never the time of a lap. */
#ifndef LOCKSTEP_LAPS_H
#define LOCKSTEP_LAPS_H

#include "card/visits.h"

struct world;

/* Least time of a shape in one of the planned turns. Where laps are short, a turn is divided into up to three, of visits as long as the
 * longest lap and at least VISIT_LEAST_S: a virtual machine is slow for tenths of a second, and the shorter a turn, the more alike are the
 * moments of its shapes. All visits of a turn are as long, filled by at most a few dozen laps: shorter ones would more often miss what
 * disturbs the machine all the time, and seem faster. Simulated ranks fill a visit together. Where their laps are long, they take only as
 * many turns as give each shape the plan's time, at least three. */
#define VISIT_S       0.06
#define VISIT_LEAST_S 0.02

/* Turns in which `count` shapes of the bench are visited, from `first` on. */
struct lap_plan {
    int first, count, turns;
    int laps;     /* of a visit, which is not repeated; 0: as many as fill it, after one that warms up */
    bool is_warm; /* if `laps`: another lap comes first, which warms up */
};

/* all of `together`, or one rank alone with NULL: run laps on every rank at once. `world` gets heartbeats. The times are on rank 0. */
struct lap_times laps_measure(struct shape_bench *bench, struct world *world, struct world *together,
                              const struct lap_plan *plan);

#endif
