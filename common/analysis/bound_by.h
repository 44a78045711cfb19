/* bound_by: the shares of a step that its terms make up, with intervals, and the term that bounds the step. Two sources:
 *
 * The split. Each round's data, compute, host, wait and transfer (timeline.h): bound_by_shares(). They sum to the step. It says where
 * the time is, not what a change would gain.
 *
 * Interventions. For each suspect the lab makes the change that would remove it, for a few steps of every round: bound_by_changes().
 *
 *     share of a suspect = factor x (step before the change - step after it) / step of the case
 *     rest               = 1 - sum of the shares
 *
 * factor: 1 where the change removes the term (a batch that lies in memory, ranks that do not meet), 2 where it halves it (half the
 * bytes at equal FLOPs, half the FLOPs at equal bytes), which assumes that the term is proportional to what is halved. Before and
 * after are steps of the slowest rank in the same round, so what slows the whole round cancels.
 *
 * What runs beside a longer term gains nothing when it is removed. So shares of one reference step sum to at most 1, where the step
 * is a chain of sums and maxima of the terms x, and what is hidden behind another term is in the rest. (Such a step is convex and
 * homogeneous in x: with a subgradient g, removing or halving x[k] gives at most g[k] x[k], and these sum to the step.) Two rules
 * follow:
 *   - a lab whose loader works beside the step compares all other suspects with the step that has its batch in memory (`before`),
 *     else the loader hides them: data + (step without data) is the step again
 *   - a change removes one term only. Fused operations also read fewer bytes: as the change for launches they would count twice.
 * Shares that sum to more than 1 claim the same time twice: a halved working set that now fits the cache, a rank that is late by its
 * data where the ranks meet. That excess may belong to either, so it is subtracted from every lead and from the low end of each
 * interval; the shares are scaled to sum to 1.
 *
 * The verdict. The term with the largest share bounds the step if, for each other term, Student's t of the paired differences
 * excludes a lead of 0 (one-sided, 1 %). A wrong name must come out ahead of the right one, so it comes up in at most 1 % of verdicts.
 * The rest is no suspect and does not compete. A suspect below a tenth of the step is not named. Otherwise the step is
 * "undetermined", with the reason.
 * Limits: t needs two rounds, and several for a lead that is small beside the noise. Terms of about equal length that run side by side
 * are in the rest: no single change shortens the step, and the sentence says so. A halved term whose neighbour takes more than half of
 * its time is estimated too small: the neighbour ends the gain. tests/unit/test_hidden_faults.c has 200 faults with known terms. */
#ifndef LOCKSTEP_BOUND_BY_H
#define LOCKSTEP_BOUND_BY_H

#include "base/stats.h"

enum { BOUND_BY_TERMS_MOST = 8 };

enum bound_reason {
    BOUND_NAMED,     /* the step is bound by a term */
    BOUND_NEAR,      /* undetermined: the lead over the second is within the noise */
    BOUND_OVERLAP,   /* undetermined: the lead is within the time that two terms claim */
    BOUND_NOTHING,   /* undetermined: no term has a share worth naming */
    BOUND_TOO_SHORT, /* undetermined: a single round shows no noise */
};

struct bound_by {
    int terms;
    const char *const *name;                 /* (terms) */
    struct ratio share[BOUND_BY_TERMS_MOST]; /* 0 to 1; 95 % interval, NaN for one round */
    struct ratio rest;                       /* the shares and the rest sum to 1 */
    double excess;                           /* by which the shares summed to more than 1; else 0 */
    enum bound_reason reason;
    int first, second; /* terms with the largest shares; second -1 if there is one term only */
    struct ratio lead; /* of first over second, less the excess */
};

/* A suspect, and steps of the slowest rank, in seconds. */
struct change {
    const char *suspect;
    double factor;
    const double *before, *after; /* (rounds) */
};

/* Judge the shares x (rounds, terms) of terms 1 to BOUND_BY_TERMS_MOST, in at least one round. `name` (terms) must outlive the
 * result. The limit of wrong names holds for one verdict: a caller that asks again as rounds are added has more of them. */
struct bound_by bound_by_shares(const char *const *name, const double *x, int rounds, int terms);

/* Judge the suspects by the changes (terms) to a case with these steps (rounds). `name` (terms) is set from the suspects. */
struct bound_by bound_by_changes(const struct change *changes, int terms, const double *step, int rounds,
                                 const char **name);

/* Return the name of the term that bounds the step, or "undetermined". */
const char *bound_by_name(const struct bound_by *bound);

/* Describe the result in new memory: "data 61 % ± 4, memory 22 % ± 5, rest 17 %: bound by data". Terms below 1 % are left out. Free it. */
char *bound_by_sentence(const struct bound_by *bound);

#endif
