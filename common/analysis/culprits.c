#include "analysis/culprits.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

void culprits_open(struct culprits *culprits, int suspects, int stretch)
{
    *culprits = (struct culprits){ .suspects = suspects, .stretch = stretch };
    culprits->by_stretch.foremost = memory_new((size_t)suspects, sizeof *culprits->by_stretch.foremost);
    culprits->by_round.foremost = memory_new((size_t)suspects, sizeof *culprits->by_round.foremost);
}

void culprits_close(struct culprits *culprits)
{
    free(culprits->by_stretch.foremost);
    free(culprits->by_round.foremost);
    *culprits = (struct culprits){ 0 };
}

static void count(struct culprits_count *culprits, const double *caused, int steps, int suspects)
{
    int foremost = 0;
    double most = 0;
    for (int suspect = 0; suspect < suspects; suspect++) {
        double sum = 0;
        for (int step = 0; step < steps; step++)
            sum += caused[step * suspects + suspect];
        foremost = sum > most ? suspect : foremost;
        most = fmax(most, sum);
    }
    if (most > 0) {
        culprits->foremost[foremost]++;
        culprits->charged++;
    }
}

void culprits_add_round(struct culprits *c, const double *caused, int steps)
{
    for (int step = 0; step < steps; step += c->stretch)
        count(&c->by_stretch, caused + step * c->suspects, steps - step < c->stretch ? steps - step : c->stretch,
              c->suspects);
    count(&c->by_round, caused, steps, c->suspects);
}

/* Upper bound of the probability that one of n equal suspects is charged most at least `hits` times of `all`: n times the binomial
 * tail. */
static double chance(int hits, int all, int n)
{
    double p = 1.0 / n, tail = 0;
    for (int i = hits; i <= all; i++)
        tail += exp(lgamma(all + 1.0) - lgamma(i + 1.0) - lgamma(all - i + 1.0) + i * log(p) + (all - i) * log1p(-p));
    return n * tail;
}

/* True if chance does not explain that the same one is charged most every time. */
static bool are_enough(const struct culprits_count *count, int suspects)
{
    return count->charged > 0 && chance(count->charged, count->charged, suspects) < 0.05;
}

int culprits_judge(const struct culprits *c, const struct charges *charges, bool *is_too_short)
{
    double all = 0, most = 0;
    int foremost = 0;
    for (int suspect = 0; suspect < c->suspects; suspect++) {
        all += charges->caused[suspect];
        if (charges->caused[suspect] > most) {
            most = charges->caused[suspect];
            foremost = suspect;
        }
    }
    const bool by_round = c->stretch > 1 && are_enough(&c->by_round, c->suspects);
    const struct culprits_count *count = by_round ? &c->by_round : &c->by_stretch;
    *is_too_short = count->charged > 0 && !are_enough(count, c->suspects);
    bool stands_out = c->suspects > 1 && most >= CULPRITS_LEAST * charges->rank_seconds && most > charges->usual &&
                      most > CULPRITS_SHARE * all &&
                      chance(count->foremost[foremost], count->charged, c->suspects) < 0.05;
    return stands_out ? foremost : -1;
}
