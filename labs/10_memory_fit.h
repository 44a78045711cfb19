/* 10_memory_fit: the question of --fit and its answer, for 10_memory_fit.c, which finds it, and 10_memory_fit_show.c, which prints it. */
#ifndef LOCKSTEP_LAB_10_FIT_H
#define LOCKSTEP_LAB_10_FIT_H

#include "10_memory.h"

/* A model on GPUs, and how it is trained without any change. */
struct question {
    struct calculated model;
    struct speeds speeds;
    double bytes;     /* of a rank */
    int global_batch; /* texts of all ranks in a step */
    struct plan now;
};

/* A part of the memory stays free, for what the calculator does not count. */
#define FREE_SHARE 0.1
bool fits(const struct question *question, const struct plan *plan);

/* List the ways to recompute: none, attention alone, runs of as many blocks as there are runs, each block. */
enum { RECOMPUTINGS = 4 };
void list_recomputings(const struct question *question, struct recomputing how[RECOMPUTINGS]);

/* Return the plan with the fewest ranks that fits; of these that with the fewest changes, then the shortest step. Its ranks are 0 if none
 * does. More ranks are multiples of those that are asked for. */
struct plan find_fit(const struct question *question);

/* Print question, single changes, answer, speeds, the error in the run whose tables lie in `folder`, and what is assumed. */
void print_fit(FILE *out, const struct question *question, const struct options *options, const char *folder);

#endif
