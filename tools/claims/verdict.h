/* verdict: what the rounds of a run say about a claim on time. Pure functions; tools/claims/judge.c supplies the numbers.
 *
 * A claim compares a quantity q with a value v in each round. d is what a round adds to the evidence:
 *
 *     ~                two-sided   d = ln(q / v)     margin ln(1 + tolerance)
 *     extra            two-sided   d = q - v in ms   margin tolerance x |mean v|
 *     < <= > >=        one-sided   d = ln(q / v)     margin 0; d > 0 contradicts the claim
 *
 * Where a logarithm does not exist in every round, ~ is tested like extra, and a one-sided claim by d = q - v.
 *
 * With m the mean of d, SE its standard error, and t(p) quantiles of Student's t (one-sided claims: m instead of |m|):
 *
 *     as predicted     |m| + t(0.95) SE < margin               two one-sided tests of equivalence
 *     wrong            |m| - t(1 - a / M) SE > margin          M claims tested in one call
 *     too noisy        otherwise
 *
 * So the effect is compared with the margin, never with the step, and noise alone makes neither verdict likely. A wide interval
 * passes nothing.
 *
 * Variance: a few rounds estimate it badly, so it is moderated by the lab's other claims at the same place (same pool):
 * s² = (p s₀² + (R - 1) s_c²) / (p + R - 1) with p + R - 1 degrees of freedom. s₀², the typical variance, and p, which says how alike
 * the others are, come from mean and variance of their ln s² (Smyth 2004, "Linear models and empirical Bayes methods", section 6.2):
 * where some are much noisier, p is 1 or 2, and a claim is judged by its own rounds; p is at most 8, since claims of a lab share noise.
 * Because a claim may still be noisier than all others, fewer than three noisy rounds of its own do not make it wrong.
 * If all rounds are equal, as on modelled machines, there is no noise, and |m| < margin decides.
 *
 * Looks: run_all.sh adds rounds until every claim is decided, so it looks again and again, and each look is a chance for a false
 * red. Simulated with ten looks at 150 claims whose truth lies exactly on their margin, the worst case: with a = 1 %, 2.2 % of runs
 * show a red at some look (6 to 24 rounds; 3.1 % for 6 to 42); with a = 0.2 %, 0.4 % (0.5 %). Hence a = 1 % / 5. Rounds could also
 * go on until the standard error alone is small, whatever the means. Then one look would do, but right formulas would take longer:
 * at 5 to 7 % noise, a lab of 25 claims takes 10 rounds until all are decided, and 14 until the standard error is small.
 * tests/unit/test_verdict.c simulates the rule. */
#ifndef LOCKSTEP_VERDICT_H
#define LOCKSTEP_VERDICT_H

#include "expression.h"

/* Claims that must hold (of kind exact, formula, sim) hold or fail. The next four are verdicts on claims about time. */
enum verdict { HOLDS, FAILS, AS_PREDICTED, WRONG, TOO_NOISY, DISTURBED, UNTESTABLE, VERDICTS };
extern const char *const verdict_words[VERDICTS];

enum { VERDICT_ROUNDS_MOST = 100 }; /* further rounds; more are "more than 100" */

/* A claim's rounds. */
struct evidence {
    int rounds;
    double mean, variance; /* of d; variance NaN for a single round */
    double margin;
    double rounding;      /* |d| up to this may come from the digits printed in tables */
    double mean_quantity; /* mean of q */
    double mean_value;    /* mean of v */
    bool is_log, is_one_sided, is_strict;
    double sign; /* d times sign is positive if the quantity is larger than the value */
    int pool; /* set by the caller: claims of one pool have similar noise; logarithms and differences are kept apart anyway */
};

/* Noise of the other claims in a pool; freedom 0 if unknown. */
struct noise {
    double variance;
    int freedom;
};

/* Quantiles by degrees of freedom, which are whole numbers; computed when first used. Begin with { .tests = M }. */
enum { VERDICT_FREEDOM_MOST = 127 }; /* more degrees of freedom are computed each time */
struct quantiles {
    int tests;
    double green[VERDICT_FREEDOM_MOST + 1], red[VERDICT_FREEDOM_MOST + 1];
};

/* Distance of the quantity above the value, and half of its 90 % interval; in percent of the value, or in ms. */
struct distance {
    double off, plus_minus;
    bool is_percent;
};

/* Return the evidence of rounds > 0 pairs (q, v). `relation` is NEAR, EXTRA or one-sided; `largest` is the largest cell that was
 * read: tables have at least six digits of it. */
struct evidence evidence_of(enum relation relation, double tolerance, const double *q, const double *v, int rounds,
                            double largest);

/* Set noise[i] (count) to the noise of the claims in all[i]'s pool, without all[i] itself. */
void verdict_noise(struct noise *noise, const struct evidence *const *all, int count);

/* Return AS_PREDICTED, WRONG or TOO_NOISY; set `distance`. */
enum verdict verdict_of(const struct evidence *e, struct noise noise, struct quantiles *quantiles,
                        struct distance *distance);

/* Return after how many further rounds a claim that is too noisy is decided if mean and variance stay; VERDICT_ROUNDS_MOST + 1 if
 * not within VERDICT_ROUNDS_MOST. */
int verdict_more_rounds(const struct evidence *e, struct noise noise, struct quantiles *quantiles);

/* Return after how many further rounds, if mean and variance stay, 19 of 20 runs would call a two-sided claim wrong whose value was made a
 * fifth larger, and as many one whose value was made smaller by that factor; 0: these rounds suffice. VERDICT_ROUNDS_MOST + 1 if
 * VERDICT_ROUNDS_MOST do not: the tolerance is too wide, or the mean too near to it. */
#define VERDICT_NOTICED 1.2
int verdict_rounds_to_notice(const struct evidence *e, struct noise noise, struct quantiles *quantiles);

#endif
