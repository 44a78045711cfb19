/* text: how the texts of a batch lie in its rows, one token per row.
 *
 * Padded: every text takes as many rows as the longest has tokens. Packed: it takes as many as it has. Row by row
 * nothing else changes, and attention keeps to a text's own rows, so that both give the same loss and gradients. */
#ifndef LOCKSTEP_TEXT_H
#define LOCKSTEP_TEXT_H

#include <stdint.h>

/* Lies in rows [first, first + extent); of these the first `tokens`, at least one, are valid. */
struct sequence {
    int first, tokens, extent;
};

/* What a rank trains on in one step. The texts lie one after another and leave no row out. Pointers are device memory but
 * for `listed`, which holds the texts once more in the program's own. */
struct sequence_batch {
    const int32_t *token; /* (rows), in [0, vocabulary); padding is 0 */
    int rows;
    const struct sequence *text, *listed; /* (texts) */
    const int32_t *label;                 /* (texts) */
    int texts, longest;                   /* most rows of a text */
    float scale; /* of each text's gradient: 1 / global batch, so that a plain sum over ranks is the mean */
};

#endif
