/* transformer: reads texts and says which of several classes each belongs to. Embedding without positions, one
 * pre-norm block (layer norm, softmax attention, residual; layer norm, C -> 2C -> C with GELU, residual), mean over a
 * text's tokens, linear classifier, softmax cross-entropy.
 *
 * Legend: C width, H heads, R rows of a batch (tokens, padding included), T its texts. Parameters lie in one array in
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
    int seed;
};

enum transformer_group {
    EMBEDDING, /* (vocab,C) */
    NORM1_WEIGHT,
    NORM1_BIAS, /* (C) */
    QKV_WEIGHT,
    QKV_BIAS, /* (C,3C) and (3C): queries, keys, values */
    JOIN_WEIGHT,
    JOIN_BIAS, /* (C,C) and (C): of the heads' outputs */
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

/* Buffers for batches of at most so many rows and texts, a text having an extent of at most `most_length`; parameters
 * as transformer_restart() leaves them. Nothing is allocated later. Ends the program where the shape is impossible. */
struct transformer *transformer_open(struct transformer_shape shape, int most_rows, int most_texts, int most_length);
void transformer_close(struct transformer *model);
struct memory_estimate transformer_memory(const struct transformer_shape *shape, double most_rows, double most_texts,
                                          int most_length);

/* Back to the start, drawn from the shape's seed, hence alike on all ranks: embedding standard normal, norms weight 1
 * and bias 0, linear layers uniform in +-1/sqrt(inputs), which are PyTorch's defaults. Gradients are poisoned with NaN:
 * who forgets one notices. */
void transformer_restart(struct transformer *model);
struct weights transformer_weights(const struct transformer *model); /* those of the start */

/* Activations, and the gradient at the logits, scaled. The batch must stay until backward is done. */
void transformer_forward(struct transformer *model, const struct sequence_batch *batch);

/* The mean loss of the texts of the last forward. */
double transformer_loss(const struct transformer *model);

/* All gradients, that of the embedding dense: rows of words that did not occur are zero. Once per forward. */
void transformer_backward(struct transformer *model, const struct sequence_batch *batch);

size_t transformer_parameter_count(const struct transformer *model);
float *transformer_parameters(struct transformer *model);
float *transformer_gradients(struct transformer *model);

/* Where a group begins in parameters and gradients; for TRANSFORMER_GROUPS, their number. */
size_t transformer_offset(const struct transformer *model, enum transformer_group group);

/* Bytes of all gradients: what one synchronisation has to sum. */
double transformer_gradient_bytes(const struct transformer_shape *shape);

/* What a batch has to do: samples are T, padded tokens R, and padded tokens x length the sum of extents squared. */
struct work transformer_work(const struct sequence_batch *batch);

/* Floating-point operations of forward and backward: 2 per multiply-add of the matrix products, counting neither the
 * scores that backward computes again nor anything row by row. */
double transformer_flops(const struct transformer_shape *shape, struct work work);

#endif
