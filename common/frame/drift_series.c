#include "frame/drift_series.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

void drift_add(struct drift_points *points, double at, struct card_drift drift)
{
    points->point = memory_grow(points->point, ((size_t)points->count + 1) * sizeof *points->point);
    points->point[points->count++] = (struct drift_point){ .at = at, .drift = drift };
}

/* Weights fall by e in so many seconds. Chosen on the residuals of labs 01 and 04, two real ranks and four simulated ones (2026-11-23):
 * local steps vary least about probes averaged over 4 s, and 10 to 25 % more if the two nearest are interpolated, whose own noise is as
 * large as a block's. A transfer follows the moment more closely. */
static const double LOCAL_S = 4, TRANSFER_S = 1;

/* Weights of own costs. Not every probe has a cost, and what disturbs a brief one for tenths of a second says nothing about a block some
 * seconds later: so its mean is over a longer time. */
static const double OWN_S = 15;

static double seconds_to_nearest(const struct drift_points *points, double at)
{
    double nearest = INFINITY;
    for (int i = 0; i < points->count; i++)
        nearest = fmin(nearest, fabs(points->point[i].at - at));
    return nearest;
}

/* Set `now` to means of the probes that have a cost. */
static void average_own(const struct drift_points *points, double at, struct own_now *now)
{
    for (int cost = 0; cost < OWN_COSTS_MOST; cost++) {
        double nearest = INFINITY, seconds = 0, weights = 0;
        for (int i = 0; i < points->count; i++)
            if (points->point[i].drift.own.at[cost].weight > 0)
                nearest = fmin(nearest, fabs(points->point[i].at - at));
        for (int i = 0; i < points->count; i++) {
            const struct drift_point *p = &points->point[i];
            const double weight = p->drift.own.at[cost].weight * exp((nearest - fabs(p->at - at)) / OWN_S);
            seconds += weight > 0 ? weight * p->drift.own.at[cost].seconds : 0;
            weights += weight > 0 ? weight : 0;
        }
        now->at[cost].seconds = weights > 0 ? seconds / weights : 0;
        now->at[cost].weight = weights;
    }
}

struct card_drift drift_at(const struct drift_points *points, double at)
{
    if (points->count == 0)
        return (struct card_drift){ .local = 1, .transfer = 1 };
    const double nearest = seconds_to_nearest(points, at);
    double local = 0, transfer = 0, alone = 0, local_weights = 0, transfer_weights = 0;
    for (int i = 0; i < points->count; i++) {
        const struct drift_point *p = &points->point[i];
        const double farther = fabs(p->at - at) - nearest; /* so that the nearest weighs 1, however far it is */
        const double of_local = exp(-farther / LOCAL_S), of_transfer = exp(-farther / TRANSFER_S);
        local += of_local * log(p->drift.local);
        transfer += of_transfer * log(p->drift.transfer);
        alone += of_local * log(p->drift.alone); /* -infinity, where it was not measured */
        local_weights += of_local;
        transfer_weights += of_transfer;
    }
    struct card_drift drift = { .local = exp(local / local_weights),
                                .transfer = exp(transfer / transfer_weights),
                                .alone = exp(alone / local_weights),
                                .bytes = points->point[0].drift.bytes };
    average_own(points, at, &drift.own);
    return drift;
}

void drift_close(struct drift_points *points)
{
    free(points->point);
    *points = (struct drift_points){ 0 };
}
