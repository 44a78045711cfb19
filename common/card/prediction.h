/* prediction: the terms of a predicted step, and what is computed from them without a machine card. */
#ifndef LOCKSTEP_PREDICTION_H
#define LOCKSTEP_PREDICTION_H

#include <math.h>
#include <stdbool.h>

/* Means over ranks, in seconds; they add up to the mean step. */
struct prediction {
    double data, local, host, wait, transfer;
    double update; /* part of `local` */
    bool is_timeshared;
};

/* Initializer of a step of which nothing is predicted. */
#define PREDICTION_UNKNOWN                                                                                             \
    {                                                                                                                  \
        .data = NAN, .local = NAN, .update = NAN, .host = NAN, .wait = NAN, .transfer = NAN                            \
    }

/* Return the exposed seconds of messages that travel one after another: from the end of backward to the end of the last message.
 * Message i is ready `before[i]` seconds before the end of backward and takes `seconds[i]`. */
double predict_exposed(const double *before, const double *seconds, int count);

/* Move `seconds` of the transfer into the ranks' own work: cores that carry messages do so in each call to the library, so
 * those started during backward lengthen it. The transfer becomes shorter by as much, so the step stays as long. */
void predict_carried(struct prediction *prediction, double seconds);

/* Let the mean rank have the result of a collective `seconds` before the last rank. It waits for the last rank in the next collective, so
 * the step stays as long. */
void predict_early(struct prediction *prediction, double seconds);

/* Return the predicted step: the sum of all terms. */
double prediction_step(const struct prediction *prediction);

/* Return the mean over steps: a share `hit_share` of them is like `hit`, the rest like `spared`. */
struct prediction predict_mixed(const struct prediction *spared, const struct prediction *hit, double hit_share);

/* Return 1 - (1 - p)^ranks: the probability that at least one of `ranks` is hit, each independently with probability p. All
 * ranks wait for a rank that is hit. So a stall S that each rank suffers in a share p of its steps costs every rank the result
 * times S per step. */
double predict_any(double p, int ranks);

/* Return the expected number of balls in the fullest box if `draws` balls fall into `boxes` boxes at random. A stall that hits
 * one random rank per step costs each step of a k-step window this number / k of the stall. */
double predict_fullest(int draws, int boxes);

#endif
