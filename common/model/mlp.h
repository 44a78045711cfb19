/* mlp: input -> hidden -> hidden -> classes with GELU between and softmax cross-entropy at the end.
 *
 * Legend: B samples of a batch, D(l) width of layer l's input, so D = {input, hidden, hidden, classes}. Parameters
 * lie in one array, layer after layer: weights (D(l), D(l+1)), then bias (D(l+1)); gradients likewise. Layer 2's
 * gradients are ready first: a bucket of them may travel while backward goes on. */
#ifndef LOCKSTEP_MLP_H
#define LOCKSTEP_MLP_H

#include "model/weights.h"
#include "options/memory_estimate.h"
#include "options/run.h"

#include <stddef.h>
#include <stdint.h>

enum { MLP_LAYERS = 3 };

/* What a rank trains on in one step. */
struct batch {
    const float *features; /* (B, input_dim), device memory; */
    const int32_t *labels; /* (B), likewise */
    int samples;           /* B */
    float scale;           /* of each sample's gradient: 1 / global batch, so that a plain sum over ranks is the mean */
};

struct mlp;

/* Buffers for at most `most_samples` per batch; weights as mlp_restart() leaves them. */
struct mlp *mlp_open(const struct run *run, int most_samples);
struct memory_estimate mlp_memory(const struct run *run, int most_samples);
void mlp_close(struct mlp *model);

/* Back to the start: uniform in +-1/sqrt(D(l)) for weights and bias of layer l (torch.nn.Linear's default), drawn
 * from the run's seed, hence alike on all ranks. Gradients are poisoned with NaN: who forgets one notices. */
void mlp_restart(struct mlp *model);
struct weights mlp_weights(const struct mlp *model); /* those of the start */

/* Activations, and the gradient at the logits, scaled. The batch must stay until backward is done. */
void mlp_forward(struct mlp *model, const struct batch *batch);

/* The mean loss of a sample in the last forward passes, all of as many samples: at most LOSSES_KEPT (losses.h). */
double mlp_loss(const struct mlp *model, int passes);

/* Gradients of one layer's parameters; call for layer 2, 1, 0. */
void mlp_backward(struct mlp *model, const struct batch *batch, int layer);

size_t mlp_parameter_count(const struct mlp *model);
float *mlp_parameters(struct mlp *model);
float *mlp_gradients(struct mlp *model);

/* Bytes of all gradients: what one synchronisation has to sum. */
double mlp_gradient_bytes(const struct run *run);

/* Where layer l's gradients begin in the array, in floats; of MLP_LAYERS, their number. */
size_t mlp_layer_offset(const struct run *run, int layer);

/* The share that backward of one layer has in the matrix products of a whole pass, forward and backward. */
double mlp_backward_share(const struct run *run, int layer);

/* Floating-point operations of forward and backward for B samples: 2 per multiply-add, and no gradient of the
 * input. */
double mlp_flops(const struct run *run, int samples);

#endif
