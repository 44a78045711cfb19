/* sequence: layout of a batch's sequences in its rows, one token per row.
 *
 * Padded: every sequence takes as many rows as the longest has tokens. Packed: each takes as many rows as it has
 * tokens. Other operations work row by row, and attention stays within a sequence's rows. Both layouts therefore give
 * the same loss and gradients. */
#ifndef LOCKSTEP_SEQUENCE_H
#define LOCKSTEP_SEQUENCE_H

/* Sequence in rows [first, first + extent); the first `tokens` of them, at least one, are valid. */
struct sequence {
    int first, tokens, extent;
};

#endif
