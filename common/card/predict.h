/* predict: the one formula of the labs. Each lab fills in what its ranks have to do; the terms add up to the step.
 *
 *     step = max over ranks of (data + local + host)  +  transfer
 *
 * With more ranks than cores (or than memory feeds at full speed) the ranks share time, each that wants a core getting an
 * equal part of them. The pace is then no longer the slowest rank's own time: it is at least the work of all over the
 * cores, and a rank that sleeps meanwhile leaves its part to the others, until all have met. */
#ifndef LOCKSTEP_PREDICT_H
#define LOCKSTEP_PREDICT_H

#include "card/card.h"

#include <stdbool.h>

/* What one rank does per step, in seconds; on a machine whose hosts differ, what it would take on the fastest. */
struct load {
    double data, local, host;
    double cpu;   /* the part of it that occupies a core; the rest is spent asleep, before it */
    double after; /* the part of `local` and `cpu` that comes after the meeting, when all ranks are awake: the update */
    int laps;     /* steps until the ranks meet, in each of which it sleeps and then works; 0 is 1 */
};

/* Means over ranks, in seconds; they add up to the mean step. */
struct prediction {
    double data, local, host, wait, transfer;
    bool is_timeshared;
};

/* `spread`: by how much the slowest of ranks that are alike exceeds their mean (the card's jitter). `transfer`: the
 * collectives of a step. Of the card: on which host each rank is, how many ranks a host feeds, and their pace. */
struct prediction predict_step(const struct card *card, const struct load *loads, int ranks, double spread,
                               double transfer);

/* The same where all ranks have the same to do. */
struct prediction predict_alike(const struct card *card, struct load load, int ranks, double spread, double transfer);

/* Messages that travel one after another, the i-th from `before[i]` seconds before the end of backward on, and for
 * `seconds[i]`: how long after that end the last is there. What was not hidden is exposed. */
double predict_exposed(const double *before, const double *seconds, int count);

double prediction_step(const struct prediction *prediction);

/* The mean over steps of which a share `hit_share` is as `hit`, and the rest as `spared`. */
struct prediction predict_mixed(const struct prediction *spared, const struct prediction *hit, double hit_share);

/* 1 - (1 - p)^ranks: the probability that of `ranks`, each hit with probability p, independently, any is. All wait for
 * whoever is, so a stall S that each rank suffers in a share p of its steps costs all of them this share of S. */
double predict_any(double p, int ranks);

/* Throw `draws` balls into `boxes` boxes: the expected number in the fullest. A stall that hits one random rank per
 * step costs a step of a k-step window this many /k of itself. */
double predict_fullest(int draws, int boxes);

/* Deals `total` samples out to ranks whose time is fixed[r] + per_sample[r] x samples, so that the slowest ends as
 * early as possible; every rank gets at least one. Shares are multiples of `grain` as far as that goes. */
void predict_shares(const double *fixed, const double *per_sample, int ranks, int total, int grain, int *shares);

#endif
