/* predict: the cost formula of all labs. Each lab fills in the load of its ranks; the terms add up to the step.
 *
 *     step = max over ranks of (data + local + host)  +  transfer
 *
 * With more ranks than cores (or than memory feeds at full speed) the ranks share time: each rank that needs a core gets an equal
 * part of the cores. The step then takes at least the work of all ranks divided by the cores, and not the slowest rank's own time.
 * A rank that sleeps leaves its part to the other ranks, until all ranks reach the collective. */
#ifndef LOCKSTEP_PREDICT_H
#define LOCKSTEP_PREDICT_H

#include "card/card.h"

#include <stdbool.h>

/* Work of one rank per step, in seconds; on a machine whose hosts differ, seconds on the fastest host. */
struct load {
    double data, local, host;
    double cpu;   /* the part that occupies a core; the rank sleeps for the rest, before it */
    double after; /* the part of `local` and `cpu` after the collective, when all ranks are awake: the update */
    int laps;     /* steps from one collective to the next; in each the rank sleeps, then works; 0 means 1 */
};

/* Return the load of a rank with a batch of this work per step while `ranks` train at once. */
struct load predict_load(const struct card *card, int ranks, struct work batch);

/* Means over ranks, in seconds; they add up to the mean step. */
struct prediction {
    double data, local, host, wait, transfer;
    bool is_timeshared;
};

/* Predict a step. `spread`: seconds by which the slowest of equal ranks exceeds their mean (the card's jitter). `transfer`: the
 * collectives of a step. The card gives each rank's host, its parallel capacity and its slowdown. */
struct prediction predict_step(const struct card *card, const struct load *loads, int ranks, double spread,
                               double transfer);

/* Predict a step in which all ranks have the same load. */
struct prediction predict_alike(const struct card *card, struct load load, int ranks, double spread, double transfer);

/* Return the exposed seconds of messages that travel one after another: from the end of backward to the end of the last message.
 * Message i is ready `before[i]` seconds before the end of backward and takes `seconds[i]`. */
double predict_exposed(const double *before, const double *seconds, int count);

/* Let so many seconds of the transfer pass within the ranks' own work: cores that carry messages do so in each call to the library, so
 * those started during backward lengthen backward. The step stays as long. */
void predict_carried(struct prediction *prediction, double seconds);

/* Return the predicted step: the sum of all terms. */
double prediction_step(const struct prediction *prediction);

/* Return the mean over steps, of which a share `hit_share` is like `hit` and the rest like `spared`. */
struct prediction predict_mixed(const struct prediction *spared, const struct prediction *hit, double hit_share);

/* Return 1 - (1 - p)^ranks: the probability that at least one of `ranks` is hit, each independently with probability p. All
 * ranks wait for a rank that is hit. So a stall S that each rank suffers in a share p of its steps costs every rank this share
 * of S. */
double predict_any(double p, int ranks);

/* Return the expected number of balls in the fullest box if `draws` balls fall into `boxes` boxes at random. A stall that hits
 * one random rank per step costs each step of a k-step window this number / k of the stall. */
double predict_fullest(int draws, int boxes);

/* Share out `total` samples to ranks whose time is fixed[r] + per_sample[r] x samples, so that the slowest ends as early as
 * possible. Every rank gets at least one. Shares are multiples of `grain` as far as possible. */
void predict_shares(const double *fixed, const double *per_sample, int ranks, int total, int grain, int *shares);

#endif
