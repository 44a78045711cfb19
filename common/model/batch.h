/* batch: training data of a rank for one step: rows of features, or sequences of tokens. */
#ifndef LOCKSTEP_BATCH_H
#define LOCKSTEP_BATCH_H

#include "device/sequence.h"
#include "options/work.h"

#include <stdint.h>

/* Pointers are device memory, except `listed`. */
struct batch {
    int samples;           /* B: rows of features, or sequences */
    const int32_t *labels; /* (B) */
    float scale;           /* scales a sample's gradient: 1 / global batch, so that a sum over ranks is the mean */

    const float *features; /* (B, width); NULL for sequences */

    /* Sequences follow one another without gaps. */
    const int32_t *token;                     /* (rows), in [0, vocabulary); padding is 0 */
    const struct sequence *sequence, *listed; /* (B), and a copy in host memory */
    int rows, longest;                        /* most rows of a sequence */
};

/* Largest sizes of any batch, for buffers. Not integers, because an estimate may be larger than any batch that fits. */
struct batch_most {
    double samples, rows, length;
};

/* Return sizes that are enough for both. */
struct batch_most batch_most_of(struct batch_most a, struct batch_most b);

/* Return the work of a batch: samples; for sequences also padded tokens, and padded tokens x length, the sum of squared extents. */
struct work batch_work(const struct batch *batch);

#endif
