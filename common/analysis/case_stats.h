/* summary: what the rounds of a case add up to. */
#ifndef LOCKSTEP_SUMMARY_H
#define LOCKSTEP_SUMMARY_H

#include "analysis/timeline.h"
#include "base/check_failures.h"
#include "base/stats.h"
#include "options/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a case's training compares with the baseline's after the first round. */
enum numerics {
    NUMERICS_UNKNOWN,   /* trained another number of steps, or nobody told the losses */
    NUMERICS_SAME,      /* every rank's loss bit-equal */
    NUMERICS_REORDERED, /* mean loss within NUMERICS_TOLERANCE: other orders of addition */
    NUMERICS_CHANGED,   /* another computation */
};
extern const char *const numerics_names[];

/* Relative difference of the mean loss that other orders of addition may cause: ten roundings of float32. The loss is a
 * mean over hundreds of samples, so most of them cancel; another computation differs by far more. */
#define NUMERICS_TOLERANCE 1e-6

/* Grows with every round of one case. Arrays are released by case_stats_close(). */
struct case_stats {
    int ranks, rounds, steps;    /* steps: measured, over all rounds */
    bool is_long;                /* run.once: its steps are compared with the baseline's, not its rounds */
    int every, windows;          /* ranks synchronise every so many steps, a window; in between each has its own pace */
    struct cell *sum;            /* (ranks) over all measured steps */
    double *slowest;             /* (windows) the slowest rank's window, per step */
    double *most_charged;        /* (windows) the largest `caused` of any rank, per step */
    int *foremost;               /* (ranks) steps in which nobody was charged more */
    int charged_steps;           /* steps in which anybody was */
    double *round_step;          /* (rounds) the posts' statistic: the largest of the ranks' mean steps */
    double spread;               /* sum over windows of slowest - fastest rank, per step */
    double what_if;              /* sum over steps */
    int trained;                 /* steps of the first round, warm-up included */
    double *loss;                /* (ranks) of the first round's last step, mean of the rank's samples */
    int *samples;                /* (ranks) per step */
    double *queued;              /* (ranks) as struct rank_result has it, over all measured steps */
    struct check_failures wrong; /* failed checks */
    struct round_end {           /* of the first round of so many steps: later ones must end alike */
        int round, steps;
        uint64_t hash; /* of the parameters */
    } ends[2];         /* windows are long in the first round and short later, or all alike */
    int lengths;       /* in use */
};

/* For a case of these settings; measured steps come in multiples of run.sync_every. */
void case_stats_open(struct case_stats *stats, const struct run *run);
void case_stats_close(struct case_stats *stats);

/* How a block of so many steps, warm-up included, ended: the same arithmetic in the same order from the same start, so bit
 * by bit as that of an earlier round that was as long. Call before case_stats_add(). */
void case_stats_repeat(struct case_stats *stats, int steps, uint64_t hash);

/* One round's spans. */
void case_stats_add(struct case_stats *stats, const struct timeline *timeline);

/* Of what failed a check there is no number, no cause and no comparison.
 *
 * Seconds; means over ranks and steps unless said otherwise. data + local + host + wait + transfer = step. */
struct case_summary {
    double step, data, local, host, wait, transfer, exposed;
    int slowest_rank;             /* -1 where there is none */
    double slowest_step;          /* the largest of the ranks' mean steps */
    double median_step, p95_step; /* over windows, of the slowest rank's mean step */
    double rank_skew;             /* mean over windows of slowest - fastest rank, per step */
    int blamed_rank;              /* -1 when nobody stands out */
    double blamed_wait;           /* per step, of all other ranks together */
    bool is_too_short;            /* so few steps that nobody could stand out */
    double what_if;
    struct ratio vs_baseline; /* of round_step, paired by round; of a long run, of all its steps */
    double loss;              /* mean over all samples */
    enum numerics numerics;
};

/* A rank is named when the waiting charged to it exceeds the 95th percentile of what the baseline charges to anybody, is
 * more than three quarters of all that is charged, and the rank was the one charged most in more steps than luck would have
 * it (were every rank that with probability 1/n, one of them would be so often with probability below 5 %). Nor is anybody
 * named for less than one in a hundred of the ranks' seconds. A stall that roams has no culprit, and neither has a run too
 * short to tell.
 *
 * Without a baseline (NULL) nothing is compared: the ratio is NaN, and the first of these conditions is left out. That is so
 * for the baseline itself, which may have a slow rank too. */
struct case_summary case_stats_summarise(const struct case_stats *stats, const struct case_stats *baseline);

#endif
