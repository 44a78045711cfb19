/* sweep: times of collectives of many kinds and sizes, all measured in the same way, and checked. */
#ifndef LOCKSTEP_SWEEP_H
#define LOCKSTEP_SWEEP_H

#include "collective/collective.h"

struct world;

/* An implementation of the all-reduce. */
struct sweep_impl {
    allreduce_impl *sum; /* NULL: the library's */
    void *argument;
};

/* A collective of floats; `bytes` are those of its `count` elements (collective.h): one rank's part of an all-gather and a
 * reduce-scatter. All kinds work in place but SEND_RECEIVE, in which each rank sends to the next one of its group and receives from
 * the one before, round a ring. A broadcast comes from the group's first rank. */
struct sweep_call {
    enum collective_kind kind;
    double bytes;                 /* a multiple of 4 */
    const struct sweep_impl *way; /* of an all-reduce; NULL: the library's */
};

struct sweep {
    const struct sweep_call *calls; /* (count) */
    int count;
    bool in_groups;  /* the world's ranks with the same `group` are a group, and all groups make each call at once */
    int group;       /* this rank's, from 0 */
    bool until_last; /* measure until the last rank has the result, not the mean rank */
    int warmups, repeats; /* of each call */
    bool is_patient; /* calls that other programs disturb are made again at once, within the patience (undisturbed.h) */
    bool has_means;  /* seconds are the mean over repeats, not the median */
    bool is_unchecked;               /* else the results of the first round are checked */
    void (*between)(void *argument); /* runs on each rank before each call; NULL: a barrier runs instead */
    void *argument;
    /* Device memory that `between` writes, as a backward does gradients: calls that fit into it run there, and find their data where a step
     * finds it. The others run in memory of the sweep. */
    void *written;
    size_t written_bytes;
};

/* Return the size of a call's larger buffer divided by `bytes`, among n ranks: n for an all-gather and a reduce-scatter, else
 * 1. */
int sweep_parts(enum collective_kind kind, int ranks);

/* all: return the bytes of the largest buffer that fits on every host: two buffers per rank, in half of the free memory. */
double sweep_largest(struct world *world);

/* all: write sizes 4 B, 16 B, 64 B … up to `most` bytes and as far as memory goes, at least 4 B, to bytes (SWEEP_SIZES_MOST).
 * Return their number. */
enum { SWEEP_SIZES_MOST = 16 };
int sweep_sizes(struct world *world, double most, double *bytes);

/* all: measure the seconds from the arrival of the last rank that a rank waits for until the mean rank has the result, as median
 * over repeats, in seconds (count) on rank 0. The calls take turns, so that a slow moment of the machine does not affect only one
 * of them. The results of the first round are checked. Return the failed checks of all ranks on rank 0. */
struct check_failures sweep_measure(struct world *world, const struct sweep *sweep, double *seconds);

/* Likewise in parts, to repeat the calls without opening the collectives each time. `sweep` must stay until the close.
 * all: open, run, close. */
struct sweep_bench;
struct sweep_bench *sweep_open(struct world *world, const struct sweep *sweep);
struct check_failures sweep_run(struct sweep_bench *bench, double *seconds);
void sweep_close(struct sweep_bench *bench);

#endif
