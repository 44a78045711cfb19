/* model: a model of a rank. It is a list of layers, whatever its type (workload.h): forward goes through them from the first to the
 * last, backward from the last to the first. A layer's gradients are ready when its backward has returned.
 *
 * Parameters are one array, layer after layer; gradients likewise. */
#ifndef LOCKSTEP_MODEL_H
#define LOCKSTEP_MODEL_H

#include "model/batch.h"
#include "model/losses.h"
#include "model/weights.h"
#include "model/workload.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Functions that a model calls during its passes; NULL: none. A simulated machine may spend a whole pass at its begin if no function
 * asks for its layers. */
struct model_hooks {
    void *argument;
    void (*before_layer)(void *argument, int layer);    /* a pass is about to use the layer's parameters */
    void (*gradients_ready)(void *argument, int layer); /* backward has computed the layer's gradients */
};

struct model_layer {
    size_t first, count; /* its parameters within those of the model */
    float *parameters, *gradients;
};

/* Read-only outside of this room; but see model_open_in_shards(). */
struct model {
    struct workload workload;
    int layers;
    struct model_layer *layer;     /* (layers) */
    size_t count;                  /* number of parameters */
    float *parameters, *gradients; /* (count), device memory */
    void *state;                   /* the type's own */
    struct losses losses;
    struct weights_list *initial; /* (layers) */
    uint64_t seed;
    struct model_hooks hooks;
    bool computes_again; /* forward runs once more, for backward */
    int frozen;          /* model_freeze(); -1: no layer */
    float *unwanted;     /* (count of the largest layer) gradients of a frozen layer; NULL before the first */
};

/* Open a model with buffers for batches up to `most`, and parameters as after model_restart(). Later calls allocate nothing. */
struct model *model_open(const struct workload *workload, uint64_t seed, struct batch_most most);
void model_close(struct model *model);
struct memory_estimate model_memory(const struct workload *workload, struct batch_most most);

/* Open a model without parameters and gradients: both arrays are NULL. The caller sets layer[].parameters before a pass uses them, and
 * layer[].gradients before backward writes them, at the latest in before_layer(). */
struct model *model_open_in_shards(const struct workload *workload, uint64_t seed, struct batch_most most);

/* Reset the parameters, drawn from the seed, hence equal on all ranks. Set gradients to NaN, so that a missing one is noticed. */
void model_restart(struct model *model);
struct weights model_weights(const struct model *model); /* initial parameters */

void model_hook(struct model *model, struct model_hooks hooks);

/* Do not train a layer's parameters, as with requires_grad=False, until the next call; -1: train all. Backward leaves the layer's
 * gradients alone and does not announce them. (It takes as long as before.) */
void model_freeze(struct model *model, int layer);

/* Compute activations and the scaled gradient of the logits. The batch must stay until backward is done. */
void model_forward(struct model *model, const struct batch *batch);

/* Compute all gradients, once per forward. */
void model_backward(struct model *model, const struct batch *batch);

/* Return the mean loss of a sample in the last `passes` forward passes, at most LOSSES_KEPT. All must have equally many samples. */
double model_loss(const struct model *model, int passes);

#endif
