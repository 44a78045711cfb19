#include "analysis/culprits.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

void culprits_open(struct culprits *culprits, int suspects)
{
    *culprits = (struct culprits){ .foremost = memory_new((size_t)suspects, sizeof *culprits->foremost) };
}

void culprits_close(struct culprits *culprits)
{
    free(culprits->foremost);
    *culprits = (struct culprits){ 0 };
}

void culprits_count(struct culprits *culprits, const double *caused, int steps, int suspects)
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
static bool are_enough(const struct culprits *culprits, int suspects)
{
    return culprits->charged > 0 && chance(culprits->charged, culprits->charged, suspects) < 0.05;
}

int culprits_judge(const struct charges *c, bool *is_too_short)
{
    double all = 0, most = 0;
    int foremost = 0;
    for (int suspect = 0; suspect < c->suspects; suspect++) {
        all += c->caused[suspect];
        if (c->caused[suspect] > most) {
            most = c->caused[suspect];
            foremost = suspect;
        }
    }
    const bool by_round = !c->are_steps_alone && are_enough(c->by_round, c->suspects);
    const struct culprits *culprits = by_round ? c->by_round : c->by_stretch;
    *is_too_short = culprits->charged > 0 && !are_enough(culprits, c->suspects);
    bool stands_out = c->suspects > 1 && most >= c->least && most > c->usual && most > 0.75 * all &&
                      chance(culprits->foremost[foremost], culprits->charged, c->suspects) < 0.05;
    return stands_out ? foremost : -1;
}
