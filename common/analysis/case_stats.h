/* case_stats: statistics of a case over all its rounds. */
#ifndef LOCKSTEP_CASE_STATS_H
#define LOCKSTEP_CASE_STATS_H

#include "analysis/culprits.h"
#include "analysis/split.h"
#include "analysis/timeline.h"
#include "base/check_failures.h"
#include "base/stats.h"
#include "options/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Comparison of a case's losses with the baseline's after the first round. */
enum numerics {
    NUMERICS_UNKNOWN,   /* another number of steps, or no losses */
    NUMERICS_SAME,      /* every rank's loss bit-equal */
    NUMERICS_REORDERED, /* mean loss within NUMERICS_TOLERANCE: another order of additions */
    NUMERICS_CHANGED,   /* another computation */
};
extern const char *const numerics_names[];

/* Relative difference of the mean loss that another order of additions may cause: ten roundings of float32. The loss is a
 * mean over hundreds of samples, so most roundings cancel; another computation differs by far more. */
#define NUMERICS_TOLERANCE 1e-6

/* Conditions under which a block was measured: its time, and how far others disturbed it. */
struct conditions {
    double at;          /* middle of the measured steps, in seconds of world_wall() */
    double taken_share; /* share of these steps in which others had a rank's core; NaN: unknown */
    bool is_disturbed;  /* that share is significant (base/interference.h), even after the repetitions */
    int repetitions;    /* of this block, because others had disturbed it */
};

/* Statistics of one round, in seconds per step. */
struct round_stats {
    double slowest_step; /* the blog posts' statistic: the largest of the ranks' mean steps */
    double rank_skew;    /* mean over windows, as in struct case_summary */
    struct step_means mean;
    struct split_step split;
    struct round_charges {
        int rank;         /* charged with most of the others' waiting; -1: none was charged */
        double most, all; /* seconds per step: charged to it, and to all */
    } charges;
    struct conditions conditions;
};

/* A step as it is drawn: its slowest rank, the time from the first to the last rank's begin, and means over ranks. Wait and transfer
 * are NaN if they cannot be separated. */
struct step_profile {
    double slowest, spread;
    struct step_means mean;
};

/* Summarise a step; cells (ranks). */
struct step_profile step_profile_of(const struct cell *cells, int ranks);

/* Statistics of one case; each round adds to them. case_stats_close() frees the arrays. */
struct case_stats {
    int ranks, rounds, steps;    /* steps: measured, over all rounds */
    bool is_long;                /* run.once: compared with the baseline by steps, not by rounds */
    bool is_whole;               /* run.whole: steps differ on purpose */
    int every, windows;          /* steps of a window, after which the ranks synchronise; number of windows */
    struct cell *sum;            /* (ranks) over all measured steps */
    double *slowest;             /* (windows) the slowest rank's window, per step */
    struct step_profile *last;   /* (windows) the window's last step, in which the ranks synchronise */
    double *most_charged;        /* (windows) the largest `caused` of any rank, per step */
    struct culprits culprits;    /* ranks charged most */
    struct round_stats *round;   /* (rounds) */
    double spread;               /* sum over windows of slowest - fastest rank, per step */
    double what_if;              /* sum over steps */
    struct late_work late;       /* over all rounds */
    int trained;                 /* as in struct rank_result, of the first round */
    double *loss;                /* (ranks) likewise: mean of the rank's samples */
    int *samples;                /* (ranks) per step */
    double *queued;              /* (ranks) as in struct rank_result, over all measured steps */
    struct check_failures wrong; /* failed checks */
    bool has_hash;
    uint64_t hash; /* of the parameters after the first block; later blocks, also repeated ones, must have the same */
};

/* Open the statistics of a case with these settings. Measured steps come in multiples of run.cycle. */
void case_stats_open(struct case_stats *stats, const struct run *run, bool is_simulated);
void case_stats_close(struct case_stats *stats);

/* Check that a block ended with the same parameters as the first one. Both compute the same in the same order from the same start,
 * so they are bit-equal. Call before case_stats_add(). */
void case_stats_repeat(struct case_stats *stats, uint64_t hash);

/* Add one round's spans. `conditions`: NULL if they are unknown. */
void case_stats_add(struct case_stats *stats, const struct timeline *timeline, const struct conditions *conditions);

/* Add only the failed checks of a block whose times are not used. */
void case_stats_check(struct case_stats *stats, const struct timeline *timeline);

/* Write the ranks to order (ranks): first those charged with the most waiting of others. */
void case_stats_order(const struct case_stats *stats, int *order);

/* Return the number of measured collectives that had a single last rank. */
int case_stats_last_arrivals(const struct case_stats *stats);

/* Return typical times of the steps added so far: medians of the windows' last steps, each member by itself, because
 * noise hardly moves them; or means, if steps differ on purpose. NaN without steps. */
struct step_profile case_stats_typical(const struct case_stats *stats);

/* Summary of a case, in seconds per step. After a failed check there is no number, no blame and no comparison. */
struct case_summary {
    struct step_means mean;
    int slowest_rank;             /* -1 for none */
    double slowest_step;          /* the largest of the ranks' mean steps */
    double median_step, p95_step; /* over windows, of the slowest rank's mean step */
    double rank_skew;             /* mean over windows of slowest - fastest rank, per step */
    int blamed_rank;              /* -1 if no rank stands out */
    double blamed_wait;           /* wait of all other ranks together, per step */
    bool is_too_short;            /* too few rounds and steps for any rank to stand out */
    double what_if;
    struct ratio vs_baseline; /* of the rounds' slowest steps, paired; in a long run, of all steps */
    double loss;              /* mean over all samples */
    enum numerics numerics;
    struct split_step split;
    struct bound_by bound; /* terms: 0 after a failed check */
    int late_by;           /* enum split: the work that makes the last rank late; -1 for none */
};

/* Summarise a case and blame a rank if these conditions hold:
 *
 *     1. The waiting charged to the rank exceeds the 95th percentile of the baseline's largest charge per window.
 *     2. It is more than three quarters of all charged waiting, and at least two in a hundred of the ranks' seconds.
 *     3. The rank was charged most in more rounds than chance explains. (If each rank were charged most with probability 1/n,
 *        some rank would reach this number of rounds with probability below 5 %.)
 *
 * So no rank is blamed for a stall that moves between ranks, or in a run that is too short: of 2 ranks one must be charged most in
 * six of six rounds, of 3 or 4 ranks in four of four.
 *
 * Rounds are counted and not steps, because another program may keep a rank's core for several steps in a row. If the rounds are
 * too few to tell, as in the spans of another job, they are cut into stretches of at most four steps; a disturbance that lasts
 * longer may then be taken for a slow rank. Simulated ranks compute in turns, or not at all, so a lasting disturbance delays all of
 * them alike: each step is a stretch.
 *
 * Without a baseline (NULL) the ratio is NaN and condition 1 is left out. Condition 1 is also left out for the baseline itself,
 * which may have a slow rank too. */
struct case_summary case_stats_summarise(const struct case_stats *stats, const struct case_stats *baseline);

#endif
