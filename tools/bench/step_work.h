/* step_work: what benchmarks time on the device that is open: whole steps of training, their matrix products alone, and a
 * copy in memory. Each has a function NAME_once(void *), that hands it over once and does not wait. */
#ifndef LOCKSTEP_STEP_WORK_H
#define LOCKSTEP_STEP_WORK_H

#include "device/sequence.h"
#include "model/mlp.h"
#include "bench/step_counts.h"

#include <stddef.h>

/* A model, its optimizer and one batch, which stays. */
struct trainee {
    struct step step;
    struct mlp *mlp; /* or */
    struct transformer *transformer;
    struct adamw *optimizer;
    struct batch samples; /* or */
    struct sequence_batch texts;
    void *arrays[3]; /* of the batch, on the device, */
    void *listed;    /* and here */
};
void trainee_open(struct trainee *trainee, const struct step_sizes *sizes, const struct step *step);
void trainee_close(struct trainee *trainee);

/* Weights and optimizer as they were at first. */
void trainee_restart(struct trainee *trainee);

/* Forward, backward, AdamW. */
void trainee_once(void *trainee);

/* Of the last step, before its update. Waits. */
double trainee_loss(const struct trainee *trainee);

/* The matrix products of a step, in its order, on random numbers, for a GPU multiplies zeros faster; weights as a linear
 * layer's begin, so that no number grows. */
struct products {
    struct step_layers layers;
    float *array[STEP_ARRAYS_MOST], *weights[STEP_LAYERS_MOST], *gradient[STEP_LAYERS_MOST];
};
void products_open(struct products *products, const struct step_sizes *sizes, const struct step *step);
void products_close(struct products *products);
void products_once(void *products);

/* Of random numbers: one MiB of them again and again. `bytes` are whole MiB. */
struct copy {
    float *from, *to;
    size_t bytes;
};
void copy_open(struct copy *copy, size_t bytes);
void copy_close(struct copy *copy);
void copy_once(void *copy);

#endif
