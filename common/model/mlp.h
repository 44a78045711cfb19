/* mlp: input -> hidden -> hidden -> classes with GELU between and softmax cross-entropy at the end.
 *
 * Legend: B samples of a batch, D(l) width of layer l's input, so D = {input, hidden, hidden, classes}. Parameters are
 * one array, layer after layer: weights (D(l), D(l+1)), then bias (D(l+1)); gradients likewise. Layer 2's gradients are
 * ready first: the all-reduce of their bucket may overlap with the rest of backward. */
#ifndef LOCKSTEP_MLP_H
#define LOCKSTEP_MLP_H

#include "model/weights.h"
#include "options/memory_estimate.h"
#include "options/run.h"

#include <stddef.h>
#include <stdint.h>

enum { MLP_LAYERS = 3 };

/* Training data of a rank for one step. */
struct batch {
    const float *features; /* (B, input_dim), device memory */
    const int32_t *labels; /* (B), device memory */
    int samples;           /* B */
    float scale;           /* scales a sample's gradient: 1 / global batch, so that a sum over ranks is the mean */
};

struct mlp;

/* Open a model with buffers for at most `most_samples` per batch, and weights as after mlp_restart(). */
struct mlp *mlp_open(const struct run *run, int most_samples);
struct memory_estimate mlp_memory(const struct run *run, int most_samples);
void mlp_close(struct mlp *model);

/* Reset the parameters: uniform in +-1/sqrt(D(l)) for weights and bias of layer l (torch.nn.Linear's default), drawn
 * from the run's seed, hence equal on all ranks. Set gradients to NaN, so that a missing one is noticed. */
void mlp_restart(struct mlp *model);
struct weights mlp_weights(const struct mlp *model); /* initial parameters */

/* Compute activations and the scaled gradient of the logits. The batch must stay until backward is done. */
void mlp_forward(struct mlp *model, const struct batch *batch);

/* Return the mean loss of a sample in the last `passes` forward passes, at most LOSSES_KEPT (losses.h). All must have
 * equally many samples. */
double mlp_loss(const struct mlp *model, int passes);

/* Compute the gradients of one layer's parameters; call for layer 2, 1, 0. */
void mlp_backward(struct mlp *model, const struct batch *batch, int layer);

size_t mlp_parameter_count(const struct mlp *model);
float *mlp_parameters(struct mlp *model);
float *mlp_gradients(struct mlp *model);

/* Bytes of all gradients, which one synchronisation sums. */
double mlp_gradient_bytes(const struct run *run);

/* Return where layer l's gradients begin in the array, in floats. For MLP_LAYERS, return their total. */
size_t mlp_layer_offset(const struct run *run, int layer);

/* Return the share of one layer's backward in the matrix products of a whole pass, forward and backward. */
double mlp_backward_share(const struct run *run, int layer);

/* Floating-point operations of forward and backward for B samples: 2 per multiply-add, and no gradient of the input. */
double mlp_flops(const struct run *run, int samples);

#endif
