#include "report/picture.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

/* Steps nearer each other than a nanosecond are alike: simulated ones differ in their last bits, by processor. */
static const double alike = 1e-9;

/* A step of a round, and how far it is from a typical one, in seconds. */
struct candidate {
    int step;
    double distance;
};

static double distance_of(const struct step_profile *a, const struct step_profile *b)
{
    const struct step_means *one = &a->mean, *other = &b->mean;
    const bool is_split = !isnan(one->wait) && !isnan(other->wait);
    const double collectives = is_split ? fabs(one->wait - other->wait) + fabs(one->transfer - other->transfer)
                                        : fabs(one->exposed - other->exposed);
    return fabs(a->slowest - b->slowest) + fabs(a->spread - b->spread) + fabs(one->data - other->data) +
           fabs(one->local - other->local) + fabs(one->host - other->host) + collectives;
}

/* Return the round's step nearest to `typical`. The ranks synchronise in a window's last step, and in steps with as many calls. */
static struct candidate nearest(const struct outcome *o, const struct timeline *t, const struct step_profile *typical)
{
    struct cell *cells = memory_new((size_t)t->steps * (size_t)t->ranks, sizeof *cells);
    struct check_failures wrong = timeline_split(t, cells); /* already counted */
    (void)wrong;
    const int synchronised = o->stats.every - 1;
    struct candidate best = { .step = synchronised, .distance = INFINITY };
    for (int step = 0; step < t->steps; step++) {
        const struct cell *of_step = cells + step * t->ranks;
        const struct step_profile profile = step_profile_of(of_step, t->ranks);
        const double distance = distance_of(&profile, typical);
        if (of_step[0].calls == cells[synchronised * t->ranks].calls && distance < best.distance - alike)
            best = (struct candidate){ step, distance };
    }
    free(cells);
    best.step += t->first_step;
    return best;
}

bool picture_is_nearer(const struct outcome *o, const struct timeline *round)
{
    const struct step_profile typical = case_stats_typical(&o->stats);
    return !o->picture.spans ||
           nearest(o, round, &typical).distance < nearest(o, &o->picture, &typical).distance - alike;
}

int picture_step(const struct outcome *o)
{
    const struct step_profile typical = case_stats_typical(&o->stats);
    return nearest(o, &o->picture, &typical).step;
}
