/* split: a step by its terms (data, compute, host, wait, transfer): means, the term that bounds it, and the work for which the last
 * rank is awaited. */
#ifndef LOCKSTEP_SPLIT_H
#define LOCKSTEP_SPLIT_H

#include "analysis/bound_by.h"
#include "analysis/timeline.h"

#include <stdbool.h>

enum split { SPLIT_DATA, SPLIT_COMPUTE, SPLIT_HOST, SPLIT_WAIT, SPLIT_TRANSFER, SPLIT_TERMS, SPLIT_WORKS = SPLIT_WAIT };
extern const char *const split_names[SPLIT_TERMS];

/* Means over ranks and steps, in seconds. data + local + host + wait + transfer = step; local includes the update, host SPAN_OTHER. */
struct step_means {
    double step, data, local, update, host, wait, transfer, exposed;
};
extern const struct step_means step_means_unknown; /* NaN */

/* Return the means of sums (ranks) over `steps` steps. */
struct step_means step_means_of(const struct cell *sums, int ranks, int steps);

/* Cause of waiting: the work of the rank charged most, beyond the median of the others. Sums over windows; begin with zeros. */
struct late_work {
    double excess[SPLIT_WORKS]; /* seconds of data, compute, host */
    double longest_wait;        /* of any rank */
};

/* Add a window of steps, after which the ranks synchronise; sums (ranks). The excess counts for the kind of work that has most of it,
 * and not beyond the rank's excess in all kinds together: a late rank may have less of another kind. Windows in which no rank is
 * charged add nothing. */
void late_work_add(struct late_work *late, const struct cell *sums, int ranks);

void late_work_join(struct late_work *all, const struct late_work *late);

/* Return the kind of work with the largest excess if that is at least half of the longest waits; else -1. */
int late_work_by(const struct late_work *late);

/* A mean rank's step by its causes, in seconds: `wait` is the waiting and the excess that causes it, so it is what the step would lose
 * if the last rank came with the others; data, compute and host are without that excess. They add up to the step. */
struct split_step {
    double step, term[SPLIT_TERMS];
    bool is_together; /* waiting and transfer cannot be told apart: both are SPLIT_WAIT, "communication" */
};

/* Split a step; `late` over `steps` steps of `ranks` ranks. */
struct split_step split_of(const struct step_means *mean, const struct late_work *late, int ranks, int steps);

/* Judge which term bounds a case, from its rounds > 0. Shares are of the mean rank's step: each rank's time counts once. */
struct bound_by split_bound(const struct split_step *of, int rounds);

#endif
