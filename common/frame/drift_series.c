#include "frame/drift_series.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

void drift_add(struct drift_points *points, double at, struct card_drift drift)
{
    points->point = memory_grow(points->point, ((size_t)points->count + 1) * sizeof *points->point);
    points->point[points->count++] = (struct drift_point){ .at = at, .drift = drift };
}

/* Weights fall by e in so many seconds. Chosen on the residuals of labs 01 and 04, two real ranks and four simulated ones (2026-11-25), on
 * a machine whose steps are alike for 0.3 s. Where probes stand between blocks, local steps vary least about means over 0.1 to 0.3 s, and
 * 1.4 to 1.6 times as much about means over 4 s. A rank alone, which few probes measure, is followed relative to all ranks. The jitter of a
 * single step says little; where one core is slower than the others, it often is for seconds. */
static const double LOCAL_S = 0.25, TRANSFER_S = 1, ALONE_S = 4, JITTER_S = 4;

/* Weights of own costs. Not every probe has a cost; a launch of half a minute measures each some seven times. A mean over all of them would
 * give every round of the launch the same error, which no interval between rounds shows. On an Intel Xeon one launch's seven probes of an
 * eager operation said 52 to 97 ns (2026-11-27). So a round takes the probes near it, and rounds differ as the probes do. */
static const double OWN_S = 2;

/* Return a part of a drift. */
typedef double part_of(const struct card_drift *drift);

static double local_of(const struct card_drift *drift)
{
    return drift->local;
}

static double transfer_of(const struct card_drift *drift)
{
    return drift->transfer;
}

static double beyond_of(const struct card_drift *drift)
{
    return drift->beyond;
}

static double alone_over_local(const struct card_drift *drift)
{
    return drift->local > 0 ? drift->alone / drift->local : 0;
}

static double jitter_of(const struct card_drift *drift)
{
    return drift->jitter;
}

static double itself(double value)
{
    return value;
}

/* Return the mean of function(part) over the probes that measured the part; NaN if none did. */
static double mean_of(const struct drift_points *points, double at, part_of *part, double fall_s,
                      double function(double))
{
    double nearest = INFINITY, sum = 0, weights = 0;
    for (int i = 0; i < points->count; i++)
        if (part(&points->point[i].drift) > 0)
            nearest = fmin(nearest, fabs(points->point[i].at - at));
    for (int i = 0; i < points->count; i++) {
        const double now = part(&points->point[i].drift), farther = fabs(points->point[i].at - at) - nearest;
        const double weight = now > 0 ? exp(-farther / fall_s) : 0; /* the nearest weighs 1, however far it is */
        sum += weight > 0 ? weight * function(now) : 0;
        weights += weight;
    }
    return weights > 0 ? sum / weights : (double)NAN;
}

/* Return the geometric mean of a part over the probes that measured it; `none` if none did. */
static double average(const struct drift_points *points, double at, part_of *part, double fall_s, double none)
{
    const double mean = mean_of(points, at, part, fall_s, log);
    return isnan(mean) ? none : exp(mean);
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
    struct card_drift drift = { .local = average(points, at, local_of, LOCAL_S, 1),
                                .transfer = average(points, at, transfer_of, TRANSFER_S, 1),
                                .bytes = points->count > 0 ? points->point[0].drift.bytes : 0,
                                .beyond = average(points, at, beyond_of, TRANSFER_S, 1),
                                .jitter = fmax(0, mean_of(points, at, jitter_of, JITTER_S, itself)) }; /* 0 for NaN */
    drift.alone = drift.local * average(points, at, alone_over_local, ALONE_S, 0);
    average_own(points, at, &drift.own);
    return drift;
}

void drift_close(struct drift_points *points)
{
    free(points->point);
    *points = (struct drift_points){ 0 };
}
