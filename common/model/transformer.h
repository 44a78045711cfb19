/* transformer: classifies sequences. Embedding without positions, one pre-norm block (layer norm, softmax attention,
 * residual; layer norm, C -> 2C -> C with GELU, residual), mean over a sequence's tokens, linear classifier, softmax
 * cross-entropy.
 *
 * Legend: C width, H heads, R rows of a batch (tokens, padding included), T its sequences. Parameters are one array in
 * the order of enum transformer_group; gradients likewise. Weights are (inputs, outputs). */
#ifndef LOCKSTEP_TRANSFORMER_H
#define LOCKSTEP_TRANSFORMER_H

#include "device/sequence.h"
#include "model/weights.h"
#include "options/memory_estimate.h"
#include "options/work.h"

#include <stddef.h>

struct transformer_shape {
    int vocab;
    int width; /* C, a multiple of heads */
    int heads; /* H; C / H is at most DEVICE_LANES */
    int classes;
    uint64_t seed;
};

enum transformer_group {
    EMBEDDING, /* (vocab,C) */
    NORM1_WEIGHT,
    NORM1_BIAS, /* (C) */
    QKV_WEIGHT,
    QKV_BIAS, /* (C,3C) and (3C): queries, keys, values */
    JOIN_WEIGHT,
    JOIN_BIAS, /* (C,C) and (C): for the heads' outputs */
    NORM2_WEIGHT,
    NORM2_BIAS, /* (C) */
    UP_WEIGHT,
    UP_BIAS, /* (C,2C) and (2C) */
    DOWN_WEIGHT,
    DOWN_BIAS, /* (2C,C) and (C) */
    CLASS_WEIGHT,
    CLASS_BIAS, /* (C,classes) and (classes) */
    TRANSFORMER_GROUPS
};

struct transformer;

/* Open a model with buffers for batches of at most so many rows and sequences, of extent at most `most_length`.
 * Parameters are as after transformer_restart(). Later calls allocate nothing. End the program if the shape is
 * impossible. */
struct transformer *transformer_open(struct transformer_shape shape, int most_rows, int most_texts, int most_length);
void transformer_close(struct transformer *model);
struct memory_estimate transformer_memory(const struct transformer_shape *shape, double most_rows, double most_texts,
                                          int most_length);

/* Reset the parameters, drawn from the shape's seed, hence equal on all ranks. Embedding standard normal, norms weight
 * 1 and bias 0, linear layers uniform in +-1/sqrt(inputs), which are PyTorch's defaults. Set gradients to NaN, so that
 * a missing one is noticed. */
void transformer_restart(struct transformer *model);
struct weights transformer_weights(const struct transformer *model); /* initial parameters */

/* Compute activations and the scaled gradient of the logits. The batch must stay until backward is done. */
void transformer_forward(struct transformer *model, const struct sequence_batch *batch);

/* Return the mean loss of the sequences of the last forward. */
double transformer_loss(const struct transformer *model);

/* Compute all gradients, once per forward. The embedding's gradient is dense: rows of words that did not occur are
 * zero. */
void transformer_backward(struct transformer *model, const struct sequence_batch *batch);

size_t transformer_parameter_count(const struct transformer *model);
float *transformer_parameters(struct transformer *model);
float *transformer_gradients(struct transformer *model);

/* Return where a group begins in parameters and gradients; for TRANSFORMER_GROUPS, their number. */
size_t transformer_offset(const struct transformer *model, enum transformer_group group);

/* Bytes of all gradients, which one synchronisation sums. */
double transformer_gradient_bytes(const struct transformer_shape *shape);

/* Return the work of a batch: samples are T, padded tokens R, and padded tokens x length the sum of squared extents. */
struct work transformer_work(const struct sequence_batch *batch);

/* Floating-point operations of forward and backward: 2 per multiply-add of the matrix products. Scores that backward
 * recomputes and row-by-row operations are not counted. */
double transformer_flops(const struct transformer_shape *shape, struct work work);

#endif
