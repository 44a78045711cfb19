#include "frame/drift_series.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

void drift_add(struct drift_points *points, double at, struct card_drift drift)
{
    points->point = memory_grow(points->point, ((size_t)points->count + 1) * sizeof *points->point);
    points->point[points->count++] = (struct drift_point){ .at = at, .drift = drift };
}

/* Seconds in which weights fall by a factor of e. Chosen on the residuals of labs 01 and 04, two real ranks and four simulated ones
 * (2026-11-25), on a machine whose steps are alike for 0.3 s. Where probes stand between blocks, local steps vary least about means over
 * 0.1 to 0.3 s, and 1.4 to 1.6 times as much about means over 4 s. A rank alone, which few probes measure, is followed relative to all
 * ranks. Parts are followed apart: an AMD EPYC (2026-11-29) went from one state to another and back, where two ranks needed 2.3 instead of
 * 1.3 ms for an update and 2.2 instead of 1.7 for what is fixed in the passes. What grows with the batch stayed, and a rank alone. The
 * jitter of a single step says little; where one core is slower than the others, it often is for seconds. */
static const double LOCAL_S = 0.25, TRANSFER_S = 1, ALONE_S = 4, JITTER_S = 4;

/* Weights of own costs. Not every probe has a cost; a launch of half a minute measures each some seven times. A mean over all of them
 * would give every round of the launch the same error, which no interval between rounds shows. On an Intel Xeon one launch's seven
 * probes of an eager operation said 52 to 97 ns (2026-11-27). So a round takes the probes near it, and rounds differ as the probes do. */
static const double OWN_S = 2;

/* A probe's value of a part, and its weight; weight 0: the probe did not measure the part. */
struct reading {
    double value, weight;
};

/* Return the reading of a part; `which` tells one of several alike: of factors, or of own costs. */
typedef struct reading reading_of(const struct card_drift *drift, int which);

/* A mean of logarithms is that of the geometric mean. */
static struct reading logarithm(double factor)
{
    return factor > 0 ? (struct reading){ log(factor), 1 } : (struct reading){ 0 };
}

/* The parts of a drift that are factors. A rank alone is followed relative to what grows with the batch of ranks together. */
enum { LOCAL, PASSES, UPDATE, ALONE_PASSES, ALONE_UPDATE, TRANSFER, BEYOND };

static struct reading factor_of(const struct card_drift *drift, int which)
{
    const double growing = drift->together.passes > 0 ? parts_growing(drift->together) : 1,
                 factors[] = { drift->local,
                               drift->together.passes,
                               drift->together.update,
                               drift->alone.passes / growing,
                               drift->alone.update / growing,
                               drift->transfer,
                               drift->beyond };
    return logarithm(factors[which]);
}

/* The parts of a drift in seconds. */
enum { GROWING, MORE };

static struct reading seconds_of(const struct card_drift *drift, int which)
{
    const double growing = drift->together.growing;
    return (struct reading){ which == MORE ? drift->together.more : growing, growing > 0 };
}

static struct reading jitter_of(const struct card_drift *drift, int which)
{
    (void)which;
    return (struct reading){ drift->jitter, drift->jitter > 0 };
}

static struct reading own_of(const struct card_drift *drift, int which)
{
    return (struct reading){ drift->own.at[which].seconds, drift->own.at[which].weight };
}

/* Return the mean of a part over the probes that measured it, and the sum of their weights; 0 and 0 if none did. */
static struct reading mean_of(const struct drift_points *points, double at, reading_of *part, int which, double fall_s)
{
    double nearest = INFINITY, sum = 0, weights = 0;
    for (int i = 0; i < points->count; i++)
        if (part(&points->point[i].drift, which).weight > 0)
            nearest = fmin(nearest, fabs(points->point[i].at - at));
    for (int i = 0; i < points->count; i++) {
        const struct reading now = part(&points->point[i].drift, which);
        if (!(now.weight > 0))
            continue;
        const double farther = fabs(points->point[i].at - at) - nearest,
                     weight = now.weight * exp(-farther / fall_s); /* of the nearest its own, however far it is */
        sum += weight * now.value;
        weights += weight;
    }
    return weights > 0 ? (struct reading){ sum / weights, weights } : (struct reading){ 0 };
}

/* Return the geometric mean of a factor over the probes that measured it; `none` if none did. */
static double average(const struct drift_points *points, double at, int which, double fall_s, double none)
{
    const struct reading mean = mean_of(points, at, factor_of, which, fall_s);
    return mean.weight > 0 ? exp(mean.value) : none;
}

/* Set `now` to means of the probes that have a cost. */
static void average_own(const struct drift_points *points, double at, struct own_now *now)
{
    for (int cost = 0; cost < OWN_COSTS_MOST; cost++) {
        const struct reading mean = mean_of(points, at, own_of, cost, OWN_S);
        now->at[cost].seconds = mean.value;
        now->at[cost].weight = mean.weight;
    }
}

struct card_drift drift_at(const struct drift_points *points, double at)
{
    struct card_drift drift = { .local = average(points, at, LOCAL, LOCAL_S, 1),
                                .transfer = average(points, at, TRANSFER, TRANSFER_S, 1),
                                .bytes = points->count > 0 ? points->point[0].drift.bytes : 0,
                                .beyond = average(points, at, BEYOND, TRANSFER_S, 0),
                                .jitter = mean_of(points, at, jitter_of, 0, JITTER_S).value };
    drift.together = (struct parts_drift){ .passes = average(points, at, PASSES, LOCAL_S, drift.local),
                                           .update = average(points, at, UPDATE, LOCAL_S, drift.local),
                                           .growing = mean_of(points, at, seconds_of, GROWING, TRANSFER_S).value,
                                           .more = mean_of(points, at, seconds_of, MORE, TRANSFER_S).value };
    const double growing = parts_growing(drift.together);
    drift.alone = (struct parts_drift){ .passes = growing * average(points, at, ALONE_PASSES, ALONE_S, 0),
                                        .update = growing * average(points, at, ALONE_UPDATE, ALONE_S, 0) };
    average_own(points, at, &drift.own);
    return drift;
}

void drift_close(struct drift_points *points)
{
    free(points->point);
    *points = (struct drift_points){ 0 };
}
