/* step_work: work that benchmarks time on the open device: whole training steps, their matrix products alone, and a memory copy.
 * Each has a function NAME_once(void *), which submits the work once and does not wait. */
#ifndef LOCKSTEP_STEP_WORK_H
#define LOCKSTEP_STEP_WORK_H

#include "bench/step_counts.h"
#include "model/trainer.h"

#include <stddef.h>

/* A model, its optimizer and one fixed batch. */
struct trainee {
    struct step step;
    struct trainer *trainer;
    struct batch batch;
    void *arrays[3]; /* the batch in device memory */
    void *listed;    /* list of sequences in host memory */
};
void trainee_open(struct trainee *trainee, const struct step_sizes *sizes, const struct step *step);
void trainee_close(struct trainee *trainee);

/* Reset weights and optimizer. */
void trainee_restart(struct trainee *trainee);

/* Submit forward, backward, AdamW. */
void trainee_once(void *trainee);

/* Return the loss of the last step, before its update. Waits for the device. */
double trainee_loss(const struct trainee *trainee);

/* The matrix products of a step, in order, on random numbers: a GPU multiplies zeros faster. Weights are initialized like a linear
 * layer's, so that numbers do not grow. */
struct products {
    struct step_layers layers;
    float *array[STEP_ARRAYS_MOST], *weights[STEP_LAYERS_MOST], *gradient[STEP_LAYERS_MOST];
};
void products_open(struct products *products, const struct step_sizes *sizes, const struct step *step);
void products_close(struct products *products);
void products_once(void *products);

/* A memory copy of `bytes`, a multiple of 1 MiB. One MiB of random numbers is repeated. */
struct copy {
    float *from, *to;
    size_t bytes;
};
void copy_open(struct copy *copy, size_t bytes);
void copy_close(struct copy *copy);
void copy_once(void *copy);

#endif
