/* sequence: layout of a batch's sequences in its rows, one token per row.
 *
 * Padded: every sequence takes as many rows as the longest has tokens. Packed: each takes as many rows as it has
 * tokens. Other operations work row by row, and attention stays within a sequence's rows. Both layouts therefore give
 * the same loss and gradients. */
#ifndef LOCKSTEP_SEQUENCE_H
#define LOCKSTEP_SEQUENCE_H

#include <stdint.h>

/* Sequence in rows [first, first + extent); the first `tokens` of them, at least one, are valid. */
struct sequence {
    int first, tokens, extent;
};

/* Training data of a rank for one step. Sequences follow one another without gaps. Pointers are device memory, except
 * `listed`, a copy of `text` in host memory. */
struct sequence_batch {
    const int32_t *token; /* (rows), in [0, vocabulary); padding is 0 */
    int rows;
    const struct sequence *text, *listed; /* (texts) */
    const int32_t *label;                 /* (texts) */
    int texts, longest;                   /* most rows of a sequence */
    float scale; /* scales a sequence's gradient: 1 / global batch, so that a plain sum over ranks is the mean */
};

#endif
