/* window_order: which tokens a rank reads in a step. Pure functions of settings and sizes of shards: nothing is read or remembered, so
 * any step can be asked for, in any order.
 *
 * Legend: B rows of a batch, T tokens of a row, n ranks, r a rank, k a step, counted from 0. A batch has B x T tokens x and as many y;
 * y is x one token later, so a batch that begins at token p reads tokens p … p + B T.
 *
 * TAIL_PUBLISHED is the rule of widely copied loaders (build-nanogpt's DataLoaderLite, and others). Rank r begins each shard at token
 * B T r. After a batch its position moves on by B T n; where position + B T n + 1 exceeds the shard's tokens, it takes the next shard,
 * after the last one the first. Two traps: the end of each shard is never read; and ranks compare their own positions, so those with
 * larger offsets change shards earlier, and ranks may be in different shards in the same step.
 *
 * TAIL_EXACT takes all shards as one endless stream that repeats them: token i of the stream is token i mod M of the M tokens. Row j
 * begins at token j T. In step k rank r reads rows (first_row + k n B + r B) and the B - 1 that follow. Rows go on in the next shard
 * where one ends, so nothing is dropped. Epoch e is those rows that begin in tokens e M … e M + M - 1. A shuffle exchanges rows of an
 * epoch, among those that begin in the same shard or among all. Every row is read once per epoch, by any number of ranks and any B. */
#ifndef LOCKSTEP_WINDOW_ORDER_H
#define LOCKSTEP_WINDOW_ORDER_H

#include <stdbool.h>
#include <stdint.h>

enum tail_rule { TAIL_PUBLISHED, TAIL_EXACT };
enum row_shuffle { SHUFFLE_NONE, SHUFFLE_SHARD, SHUFFLE_GLOBAL };

/* Words of --tail and --shuffle, in the order of the enums. */
#define TAIL_WORDS    "published exact"
#define SHUFFLE_WORDS "none shard global"

struct window_order {
    enum tail_rule tail;
    enum row_shuffle shuffle; /* SHUFFLE_NONE if published */
    uint64_t seed;            /* of the shuffle */
    uint64_t rows, length;    /* B and T */
    uint64_t ranks;
    uint64_t first_row;    /* if exact: row at which step 0 begins, where a run before ended */
    uint64_t first_step;   /* if published: step at which step 0 continues */
    int shards;            /* number of shards, */
    const uint64_t *start; /* (shards + 1): position of each one's first token; at last M */
};

/* End the program with one line if a rank's first batch does not fit into a shard, or settings contradict each other. `names` (shards)
 * are the shards' names. */
void window_order_refuse(const struct window_order *order, const char *const *names);

/* Tokens that follow each other in the shards. */
struct token_window {
    int shard;      /* shard of its first token */
    uint64_t first; /* index of that token in the shard */
    uint64_t
        position; /* of that token in the endless stream: start[shard] + first + M for each earlier pass over all shards */
};

/* Return the windows of a batch, and the tokens of a window: one of B x T, or if shuffled B of T. */
uint64_t window_order_count(const struct window_order *order);
uint64_t window_order_tokens(const struct window_order *order);

/* Return a window of the batch that a rank reads in a step. */
struct token_window window_order_at(const struct window_order *order, uint64_t rank, uint64_t step, uint64_t window);

/* Go on from window 0 of a rank's batch to that of its next batch, if there is no shuffle: as window_order_at() of the next step, without
 * its divisions. */
void window_order_next(const struct window_order *order, uint64_t rank, struct token_window *window);

/* Return the number of batches that `rank` reads in one pass over all shards. Only for the published order. */
uint64_t window_order_pass(const struct window_order *order, uint64_t rank);

/* Return the first row of an epoch; its last is the one before the next epoch's first. Only for the exact order. */
uint64_t window_order_epoch(const struct window_order *order, uint64_t epoch);

/* Return the row that the shuffle puts in a row's place. Only for the exact order. */
uint64_t window_order_shuffled(const struct window_order *order, uint64_t row);

#endif
