/* drift_series: follows the speed of this machine during a run. Between blocks of cases, probes repeat what the machine card was
 * measured with: a usual step without collectives, an all-reduce, and some of the lab's own costs. No probe sees a case, so predictions
 * from the scaled card are still predictions. */
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

/* Add a probe. A part of 0 was not measured. */
void drift_add(struct drift_points *points, double at, struct card_drift drift);

/* Return the drift at a time: geometric means of the probes around, whose weights fall with their distance in time: within tenths of a
 * second for local steps, about a second for transfers, and some seconds for a rank alone relative to all. For jitter and own costs it is
 * the arithmetic mean over some seconds. 1 without probes, and 0 for a rank alone, jitter and own costs. */
struct card_drift drift_at(const struct drift_points *points, double at);

void drift_close(struct drift_points *points);

#endif
