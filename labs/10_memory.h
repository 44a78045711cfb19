/* 10_memory: settings of lab 10; what its step (10_memory.c), formula, tables and calculator share. */
#ifndef LOCKSTEP_LAB_10_H
#define LOCKSTEP_LAB_10_H

#include "frame/lab.h"
#include "frame/train.h"

struct options {
    struct run run;
    struct workload model; /* its recompute settings are those of the case */
    bool has_zero_table;
    double parameters;      /* of --zero-table */
    const char *fit;        /* memory of a rank, into which a model shall fit; NULL: not asked */
    int known;              /* which model: known_shapes[] */
    int length;             /* its tokens of a text */
    double tflops, link_gb; /* its GPUs and the links between them */
    int every;              /* blocks of which recompute_sqrt keeps one input; 0: the square root of their number */
    /* Set by the variants: */
    struct zero_plan plan;
    bool leaks; /* keep the outputs of all blocks of each step */
};

/* What the lab adds to the machine card. Two models of three blocks of the published sizes are the most memory that measuring takes. */
#define MEMORY_OF_COSTS 48e6
extern const struct own_cost own_costs[];

/* Bytes of the two moments of all parameters. */
double moments_bytes(const struct workload *workload);

/* Bytes that a leaking step keeps. */
double leak_bytes(const struct options *o);

/* Bytes of mixed-precision Adam: parameters and gradients of 2 bytes; a copy of the parameters and two moments of 4 each. */
struct memory_estimate mixed_precision(double parameters);

/* Tables timeline.csv, growth.csv and divided.csv. */
extern const struct lab_table tables[];

/* If the options ask for it, write the table of the ZeRO paper to `out`, unless that is NULL, and return true: for --parameters and --ranks,
 * the gigabytes that a rank holds in each stage, and the elements that it sends in a step: the limit of many ranks, of which n ranks send
 * (n - 1) / n. */
bool zero_table(const struct options *o, FILE *out);

/* Likewise for --fit: the smallest change after which a model fits. */
bool fit(const struct options *o, FILE *out);

/* Predict a step of a case from its settings and the machine card: costs measured before any case runs. */
struct prediction predict(const struct options *o, const struct card *card);

#endif
