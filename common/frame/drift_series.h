/* drift_series: follows the speed of this machine during a run. Between blocks of cases, probes repeat what the machine card was measured
 * with: a usual step without collectives, an all-reduce, and some of the lab's own costs. No probe sees a case, so predictions from the scaled card are still
 * predictions. */
#ifndef LOCKSTEP_DRIFT_SERIES_H
#define LOCKSTEP_DRIFT_SERIES_H

#include "card/drift.h"

struct drift_points {
    int count;
    struct drift_point {
        double at; /* seconds of world_wall() */
        struct card_drift drift;
    } * point; /* (count), in the order of time */
};

void drift_add(struct drift_points *points, double at, struct card_drift drift);

/* Return the drift at a time: the geometric mean of all probes, whose weights fall with their distance in time, over a few seconds for
 * local steps and about one for transfers; for own costs the arithmetic mean over a quarter of a minute. 1 without probes. */
struct card_drift drift_at(const struct drift_points *points, double at);

void drift_close(struct drift_points *points);

#endif
