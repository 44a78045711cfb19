/* 10_memory: settings of lab 10; what its step (10_memory.c), formula, tables and calculator share. */
#ifndef LOCKSTEP_LAB_10_H
#define LOCKSTEP_LAB_10_H

#include "frame/lab.h"
#include "frame/train.h"

struct options {
    struct run run;
    struct workload model; /* its recompute settings are those of the case */
    bool has_zero_table;
    double parameters;                 /* of --zero-table */
    const char *fit;                   /* memory of a rank that a model must fit into; NULL: not asked */
    int known;                         /* which model: known_shapes[] */
    int length;                        /* its tokens of a text; 0: as many as it has positions for, or 4096 */
    double tflops, link_gb, memory_gb; /* speeds that are assumed for --fit; */
    bool measured_speeds;              /* instead of these, those of the newest run */
    int every; /* blocks per input that recompute_sqrt keeps; 0: the square root of their number */
    /* Set by the variants: */
    struct zero_plan plan;
    bool leaks; /* keep the outputs of all blocks of each step */
};

/* Costs that the lab adds to the machine card. Two models of five blocks of the published sizes are the most memory that measuring
 * takes. */
#define MEMORY_OF_COSTS 48e6
extern const struct own_cost own_costs[];

/* Bytes of the two moments of all parameters. */
double moments_bytes(const struct workload *workload);

/* Bytes that a leaking step keeps. */
double leak_bytes(const struct options *o);

/* Model of the calculator (10_memory_calculator.c): counts and bytes. */
struct calculated {
    struct known_shape shape;
    double parameters, largest;   /* of the model, of its largest layer */
    struct memory_estimate whole; /* parameters, gradients and moments */
    double bytes;                 /* of an activation, of a gradient, and of a parameter that a pass uses */
    double outputs;               /* of the last layer, for each token */
};

/* Plan of its training. */
struct plan {
    int ranks, stage;         /* ZeRO's */
    int batch, micro, length; /* texts of a rank in a step, and of a micro-batch; tokens of a text */
    struct recomputing recompute;
};

/* Operations per second of a rank in large products; bytes per second that a rank sends; and that its update reads and writes. */
struct speeds {
    double flops, link, memory;
};

/* Bytes that an update reads and writes for a parameter: four arrays of floats, and three. */
enum { UPDATE_BYTES = 28 };

/* Own costs that are speeds. Their probes would disturb a run for nothing, as no case's formula has them. */
#define LARGE_PRODUCT_COST "large_product_flops_per_s"
#define UPDATE_COST        "update_bytes_per_s"

/* Bytes of mixed-precision Adam: parameters and gradients of 2 bytes; a copy of the parameters and two moments of 4 each. Its total, 16 a
 * parameter, is that of floats. */
struct memory_estimate mixed_precision(double parameters);

/* A language model in mixed precision. */
struct calculated calculated_shape(const struct known_shape *shape);

/* Return the bytes that a rank holds, by owner and in all; the seconds of a step. */
struct memory_estimate calculated_memory(const struct calculated *model, const struct plan *plan);
double calculated_bytes(const struct calculated *model, const struct plan *plan);
double calculated_seconds(const struct calculated *model, const struct plan *plan, const struct speeds *speeds);

/* Read the speeds that the lab's run measured whose results are in this folder. Return false if it lacks one. */
bool speeds_of_run(const char *folder, struct speeds *speeds);

/* Table calculator.csv. */
void write_calculator(struct lab *lab, const struct options *base, struct csv *csv);

/* Tables timeline.csv, growth.csv and divided.csv. */
extern const struct lab_table tables[];

/* --- --fit: 10_memory_fit.c finds the answer, 10_memory_fit_show.c prints it --- */

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

/* Write the table of the ZeRO paper to `out`, unless that is NULL, and return true, if the options ask for it: for --parameters and
 * --ranks, the gigabytes that a rank holds in each stage, and the elements that it sends in a step. These are the limit of many
 * ranks; n ranks send (n - 1) / n of it. */
bool zero_table(const struct options *o, FILE *out);

/* Likewise for --fit: the smallest change after which a model fits. */
bool fit(const struct options *o, FILE *out);

/* Predict a step of a case from its settings and the machine card: costs measured before any case runs. */
struct prediction predict(const struct options *o, const struct card *card);

#endif
