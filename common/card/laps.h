/* laps: training steps of a rank, of which the local parts are timed, on batches of several shapes that take turns. So a slow moment of the
 * machine affects all shapes alike, and not the difference between them. A lap's passes and update take as long after other shapes as after
 * its own, within the noise of 4 %; a fetch takes up to 40 % less, because a turn begins with the same samples, but that is below 0.1 % of
 * the step (published models, CPU time, means of 80 laps, 2026-11-23).
 *
 * Ranks that measure together sum their gradients before each update, outside the times: after a sum an update of 12.5 MB took 2.2 to
 * 2.6 ms, and 1.6 to 2.3 without (2 cores of an AMD EPYC, 2026-11-29).
 *
 * A visit is what a shape gets in a turn: one lap, or as many short ones as fill the visit's time. A visit that other programs or the
 * virtual machine's host disturbed is repeated, within twice as many turns (visits.h). Only that decides, never the time of a lap. */
#ifndef LOCKSTEP_LAPS_H
#define LOCKSTEP_LAPS_H

#include "card/visits.h"

struct collective;
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
    bool is_warm; /* if `laps`: another lap of the first shape comes before, which warms up */
};

/* all of `together`, or one rank alone with NULL: run laps on every rank at once, which sum by `sums`. `world` gets heartbeats. The times
 * are on rank 0. */
struct lap_times laps_measure(struct shape_bench *bench, struct world *world, struct world *together,
                              struct collective *sums, const struct lap_plan *plan);

/* all of `world`: open the sums of laps. NULL, which is none, for one rank, and for simulated ones: they compute one after another, so that
 * no rank finds its caches as it left them anyway. */
struct collective *laps_open_sums(struct world *world);
void laps_close_sums(struct collective *sums);

#endif
