#include "card/prediction.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

double predict_exposed(const double *before, const double *seconds, int count)
{
    double done = -INFINITY;
    for (int i = 0; i < count; i++)
        done = fmax(done, -before[i]) + seconds[i];
    return fmax(0, done);
}

void predict_carried(struct prediction *p, double seconds)
{
    const double moved = fmin(seconds, p->transfer);
    p->local += moved;
    p->transfer -= moved;
}

void predict_early(struct prediction *p, double seconds)
{
    p->transfer -= seconds;
    p->wait += seconds;
}

double prediction_step(const struct prediction *p)
{
    return p->data + p->local + p->host + p->wait + p->transfer;
}

struct prediction predict_mixed(const struct prediction *spared, const struct prediction *hit, double hit_share)
{
    double spared_share = 1 - hit_share;
    return (struct prediction){ .data = spared_share * spared->data + hit_share * hit->data,
                                .local = spared_share * spared->local + hit_share * hit->local,
                                .update = spared_share * spared->update + hit_share * hit->update,
                                .host = spared_share * spared->host + hit_share * hit->host,
                                .wait = spared_share * spared->wait + hit_share * hit->wait,
                                .transfer = spared_share * spared->transfer + hit_share * hit->transfer,
                                .is_timeshared = hit->is_timeshared };
}

double predict_any(double p, int ranks)
{
    return -expm1(ranks * log1p(-p)); /* exact for tiny p; log1p(-1) is -inf, which gives 1 */
}

/* Return the probability that no box holds more than `most` balls: draws!/boxes^draws times the coefficient of x^draws in
 * (sum over j <= most of x^j/j!)^boxes. The factors j!, boxes and draws! are applied step by step, so that nothing overflows. */
static double probability_at_most(int most, int draws, int boxes)
{
    double *now = memory_new((size_t)draws + 1, sizeof *now), *next = memory_new((size_t)draws + 1, sizeof *next);
    now[0] = 1; /* now[d]: probability that the boxes so far hold d balls, none more than `most` */
    for (int box = 0; box < boxes; box++) {
        double share = 1.0 / (boxes - box); /* of the remaining balls that land in this box */
        for (int d = 0; d <= draws; d++)
            next[d] = 0;
        for (int d = 0; d <= draws; d++) {
            int left = draws - d;
            double chance = pow(1 - share, left); /* binomial: none of the remaining balls */
            for (int j = 0; j <= left && j <= most; j++) {
                next[d + j] += now[d] * (share < 1 ? chance : j == left);
                chance *= (double)(left - j) / (j + 1) * share / (1 - share);
            }
        }
        double *held = now;
        now = next;
        next = held;
    }
    double probability = now[draws];
    free(now);
    free(next);
    return probability;
}

double predict_fullest(int draws, int boxes)
{
    int least = (draws + boxes - 1) / boxes; /* balls in the fullest box at least */
    double expected = least;
    for (int most = least; most < draws; most++) {
        double more = 1 - probability_at_most(most, draws, boxes);
        if (more < 1e-12)
            break;
        expected += more;
    }
    return expected;
}
