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
#include "card/prediction.h"

#include <stdbool.h>

/* Work of one rank per step, in seconds; on a machine whose hosts differ, seconds on the fastest host. */
struct load {
    double data, local, host;
    double cpu;    /* the part that occupies a core; the rank sleeps for the rest, before it */
    double update; /* the part of `local` and `cpu` that is the update */
    int laps;      /* steps from one collective to the next; in each the rank sleeps, then works; 0 means 1 */
    double pause;  /* seconds per step that it also sleeps or waits, which the lab adds itself */
    bool
        data_is_rest; /* `data` is what a fetch beside the step still needs: if the step takes longer, it is shorter by as much */
};

/* Return the load of a rank with a batch of this work per step while `ranks` train at once. */
struct load predict_load(const struct card *card, int ranks, struct work batch);

/* Predict a step. `spread`: seconds by which the slowest of equal ranks exceeds their mean (the card's jitter). `transfer`: the
 * collectives of a step. The card gives each rank's host, its parallel capacity and its slowdown, and what a step loses after ranks have
 * slept or waited, if it was measured (pause.h). */
struct prediction predict_step(const struct card *card, const struct load *loads, int ranks, double spread,
                               double transfer);

/* Predict a step in which all ranks have the same load. */
struct prediction predict_alike(const struct card *card, struct load load, int ranks, double spread, double transfer);

/* Share out `total` samples to ranks whose time is fixed[r] + per_sample[r] x samples, so that the slowest ends as early as
 * possible. Every rank gets at least one. Shares are multiples of `grain` as far as possible. */
void predict_shares(const double *fixed, const double *per_sample, int ranks, int total, int grain, int *shares);

#endif
