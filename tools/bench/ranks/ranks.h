/* ranks: what the jobs of bench_ranks share. They are what the benchmark measures among ranks; the parent (../jobs.h) starts
 * them and reads what they found. */
#ifndef LOCKSTEP_BENCH_RANKS_H
#define LOCKSTEP_BENCH_RANKS_H

#include "base/csv.h"

struct world;

struct ranks {
    struct world *world;
    int rounds; /* 0: as many as a job takes by itself */
    int steps;  /* of a job that has steps */
    struct csv found;
};

/* Turns of a pair that usually takes so many. */
int ranks_rounds(const struct ranks *ranks, int usual);

/* all: rounds (count) of a pair that took turns: this rank's seconds, of which those of the rank that needed most count. `what`,
 * `per_second` and `goal` are what rows_add_rounds() takes. */
void ranks_found(struct ranks *ranks, const char *what, double per_second, double goal, const double *ours,
                 const double *reference, int count);

/* The same where `ours` are differences of turns, which are easily upset: each stretch of rounds gives its medians, and such
 * stretches are what is found. A median below what a clock resolves is a tenth of a nanosecond. */
void ranks_found_difference(struct ranks *ranks, const char *what, double per_second, double goal, const double *ours,
                            const double *reference, int count);

/* The jobs: all ranks call them. */
void ranks_sums(struct ranks *ranks);    /* through the harness, and by MPI alone */
void ranks_waiting(struct ranks *ranks); /* rank 0 trains, the others wait for it */
void ranks_share(struct ranks *ranks);   /* what the harness adds to a step of one rank */

/* A program of MPI without a harness: starts, does the communication and the charged work of so many steps of the MLP where
 * ranks are simulated, and ends. */
void ranks_plain(int steps);

#endif
