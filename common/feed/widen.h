/* widen: tokens of a shard become x and y of a batch: x[i] = tokens[i], y[i] = tokens[i + 1], so `count` + 1 tokens are read. */
#ifndef LOCKSTEP_WIDEN_H
#define LOCKSTEP_WIDEN_H

#include <stddef.h>

/* Widths in bytes of a token in the shard (2 or 4), and in the batch (4, or that of the shard). */
struct widths {
    int in, out;
};

/* Copy a whole block by vector instructions: first the elements of x, then those of y; tokens that are widened 512 at a time. Stores into
 * one array after the other were a seventh faster than into both at once (AMD EPYC). */
void widen_block(struct widths widths, const void *tokens, void *x, void *y, size_t count);

/* Copy like llm.c: one loop over x and y, which the compiler vectorizes. */
void widen_loop(struct widths widths, const void *tokens, void *x, void *y, size_t count);

/* Copy one element after the other by scalar instructions, for comparison. */
void widen_elements(struct widths widths, const void *tokens, void *x, void *y, size_t count);

/* Copy one token. */
void widen_one(struct widths widths, const void *token, void *to);

#endif
