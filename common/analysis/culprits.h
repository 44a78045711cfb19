/* culprits: is one rank, or one host, the cause of the others' waiting, or does chance explain it? */
#ifndef LOCKSTEP_CULPRITS_H
#define LOCKSTEP_CULPRITS_H

#include <stdbool.h>

/* Number of stretches of steps, and of rounds, in which each suspect was charged most. */
struct culprits {
    int suspects;
    int stretch; /* steps in a row, at most, that count once; 1: rounds decide nothing */
    struct culprits_count {
        int *foremost; /* (suspects) */
        int charged;   /* stretches or rounds in which any was charged */
    } by_stretch, by_round;
};

void culprits_open(struct culprits *culprits, int suspects, int stretch);
void culprits_close(struct culprits *culprits);

/* Count those charged most in a round; caused (steps, suspects): seconds of waiting of others that each is charged with. */
void culprits_add_round(struct culprits *culprits, const double *caused, int steps);

/* Share of all charges that one must exceed to stand out, and the least share of all ranks' time: a profiler alone delays ranks
 * unequally by 1 % (docs/blame.md). */
#define CULPRITS_SHARE 0.75
#define CULPRITS_LEAST 0.02

/* Charges of a whole run. */
struct charges {
    const double *caused; /* (suspects) sums */
    double rank_seconds;  /* of all ranks' steps: a sum below 2 % of it is not worth naming */
    double usual;         /* nor one below that of a run without a fault; 0: unknown */
};

/* Return the one that stands out; -1 if none does. It is charged with at least 2 % of the rank-seconds, more than `usual`, more than
 * three quarters of all, and was charged most in more rounds (or stretches, if rounds are too few to tell) than chance explains.
 * *is_too_short: there are too few of both for any to stand out. */
int culprits_judge(const struct culprits *culprits, const struct charges *charges, bool *is_too_short);

#endif
