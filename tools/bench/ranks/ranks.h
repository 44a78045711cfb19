/* ranks: shared by the jobs of bench_ranks, the benchmark's measurements among ranks. The benchmark (../jobs.h) starts the jobs
 * and reads their results. */
#ifndef LOCKSTEP_BENCH_RANKS_H
#define LOCKSTEP_BENCH_RANKS_H

#include "base/csv.h"
#include "bench/step_counts.h"

struct world;

struct ranks {
    struct world *world;
    struct step_sizes sizes; /* of both models */
    int rounds;              /* 0: each job's default */
    int steps;               /* for jobs that have steps */
    const char *products;    /* file of the fastest products: `products` writes it, `steps` reads it */
    struct csv found;
};

/* Return the number of rounds: --rounds, or else `usual`. */
int ranks_rounds(const struct ranks *ranks, int usual);

/* all: report the rounds (count) of a pair, this rank's seconds; the slowest rank of each round counts. `what`, `per_second` and
 * `goal` go to rows_add_rounds(). */
void ranks_found(struct ranks *ranks, const char *what, double per_second, double goal, const double *ours,
                 const double *reference, int count);

/* Report rounds whose `ours` are differences of turns, which are sensitive to noise: give the medians of segments of rounds.
 * A median below a tenth of a nanosecond, which no clock resolves, is raised to that value. */
void ranks_found_difference(struct ranks *ranks, const char *what, double per_second, double goal, const double *ours,
                            const double *reference, int count);

/* The jobs; all ranks call them.
 *
 * A pair is timed in one process, in turns, and each start is a new process. In two processes the same code and buffers have other
 * addresses and connections, and that difference would be counted as the harness's. */
void ranks_sums(struct ranks *ranks);     /* all-reduce through the harness against MPI alone */
void ranks_waiting(struct ranks *ranks);  /* rank 0 trains while the others wait */
void ranks_share(struct ranks *ranks);    /* harness time in a step of one rank */
void ranks_clocks(struct ranks *ranks);   /* one rank: a stamp and a phase against clock_gettime */
void ranks_products(struct ranks *ranks); /* one rank: find the fastest products of a step; reports no rounds */
void ranks_steps(struct ranks *ranks);    /* one rank: a training step against its floor */

/* Run an MPI program without the harness: start, communication and charged work of `steps` MLP steps (simulated ranks only),
 * end. */
void ranks_plain(int steps);

#endif
