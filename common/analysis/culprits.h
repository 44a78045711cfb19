/* culprits: is one rank, or one host, the cause of the others' waiting, or does chance explain it? */
#ifndef LOCKSTEP_CULPRITS_H
#define LOCKSTEP_CULPRITS_H

#include <stdbool.h>

/* How often each of them was charged most in a stretch of steps, or in a round. */
struct culprits {
    int *foremost; /* (suspects) */
    int charged;   /* stretches or rounds in which any was charged */
};

void culprits_open(struct culprits *culprits, int suspects);
void culprits_close(struct culprits *culprits);

/* Count the one that was charged most; caused (steps, suspects): seconds of waiting of others that it is charged with. */
void culprits_count(struct culprits *culprits, const double *caused, int steps, int suspects);

/* Charges of a whole run. */
struct charges {
    int suspects;
    const double *caused; /* (suspects) sums */
    double least;         /* a smaller sum is not worth naming */
    double usual;         /* nor one below that of a run without a fault; 0: unknown */
    const struct culprits *by_stretch, *by_round;
    bool are_steps_alone; /* a stretch is one step: rounds are then never counted */
};

/* Return the one that stands out; -1 if none does. It is charged with at least `least`, more than `usual`, more than three quarters of
 * all, and was charged most in more rounds (or stretches, if rounds are too few to tell) than chance explains. *is_too_short: there are
 * too few of both for any to stand out. */
int culprits_judge(const struct charges *charges, bool *is_too_short);

#endif
