/* 06_ring_allreduce: settings of lab 06; what its step (06_ring_allreduce.c), ways, formula and tables share. */
#ifndef LOCKSTEP_LAB_06_H
#define LOCKSTEP_LAB_06_H

#include "frame/lab.h"
#include "frame/train.h"

enum way { LIBRARY, GATHER, DOUBLING, RING, WAYS };

struct options {
    struct run run;
    struct workload model;
    int sweep_mb; /* the largest message of the sweep */
    /* Set by the variants: */
    enum way way; /* how the gradients are added up */
};

/* Replace each rank's data (count) by the sum over ranks, bit-equal on all ranks; scratch (count). */
typedef void summing(struct p2p *p2p, float *data, size_t count, float *scratch);
summing sum_by_gather, sum_by_doubling, sum_by_ring;

/* Return the largest power of two up to `ranks`. */
int power_of_two(int ranks);

/* Arguments of an all-reduce by hand. */
struct by_hand {
    summing *sum;
    struct p2p *p2p;
    float *scratch;
};

void sum_by_hand(void *argument, float *data, size_t count);

/* Open the arguments of each way: by_hand (WAYS). */
struct by_hand *by_hand_open(struct world *world, const struct options *o);
void by_hand_close(struct by_hand *by_hand);
double by_hand_bytes(const struct options *o);

/* Return sum_by_hand, or NULL for the library. */
allreduce_impl *implementation_of(enum way way);

/* Place of the gradients that a rank adds up. */
enum gradients {
    BY_THEMSELVES, /* in caches, as far as these reach: it was just written */
    OF_A_STEP      /* in memory, as backward has computed others since */
};

/* Ways with their formulas: seconds until the last rank has the sum, and by which the mean rank has it before (NULL: none); messages and
 * bytes that a rank sends. */
struct method {
    const char *name;
    summing *sum; /* NULL: the library's */
    double (*seconds)(const struct card *card, int ranks, double bytes, enum gradients gradients);
    double (*early)(const struct card *card, int ranks, double bytes);
    struct traffic (*sends)(int rank, int ranks, double bytes);
};
extern const struct method methods[WAYS];

/* Predict a step of a case from its settings and the machine card. */
struct prediction predict(const struct options *o, const struct card *card);

/* Return the size from which the ring is quicker, given times at growing sizes. Between two sizes, times are alpha + beta x bytes.
 * NaN if the ring is not quicker at the largest size. */
double find_crossover(const double *bytes, const double *with_doubling, const double *with_ring, int sizes);

double predict_crossover(const struct card *card, int ranks);

/* Bytes of the sweep's largest message; 0 for one rank, or if --cases selects cases. */
double sweep_bytes(const struct options *o);

/* Tables traffic.csv, sweep.csv and crossover.csv. */
extern const struct lab_table tables[];

#endif
