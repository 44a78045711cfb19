#include "frame/drift_series.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

void drift_add(struct drift_points *points, double at, struct card_drift drift)
{
    points->point = memory_grow(points->point, ((size_t)points->count + 1) * sizeof *points->point);
    points->point[points->count++] = (struct drift_point){ .at = at, .drift = drift };
}

static double between(double before, double after, double share)
{
    return exp((1 - share) * log(before) + share * log(after));
}

struct card_drift drift_at(const struct drift_points *points, double at)
{
    if (points->count == 0)
        return (struct card_drift){ 1, 1 };
    int after = 0;
    while (after < points->count && points->point[after].at < at)
        after++;
    if (after == 0 || after == points->count)
        return points->point[after == 0 ? 0 : after - 1].drift;
    const struct drift_point *a = &points->point[after - 1], *b = &points->point[after];
    const double share = (at - a->at) / (b->at - a->at);
    return (struct card_drift){ .local = between(a->drift.local, b->drift.local, share),
                                .transfer = between(a->drift.transfer, b->drift.transfer, share) };
}

void drift_close(struct drift_points *points)
{
    free(points->point);
    *points = (struct drift_points){ 0 };
}
