/* batch_source: gives a rank its batches of tokens, in one of several ways: a ladder of optimisations, each of which changes one thing.
 *
 *     elements      each batch: allocate a buffer, x and y; read the tokens into the buffer; copy them one by one; free all
 *     blocks        … copy them by vector instructions
 *     mapped        … the shard is mapped into memory: no read, no buffer
 *     preallocated  … x and y are allocated once
 *     advised       … the kernel is told that the shard is read in order (madvise): it maps more pages at a time
 *     prefetched    … a helper thread fills the next of two pairs of x and y during the step
 *     windowed      advised, and the pages behind are unmapped: the process holds little memory
 *     buffered      llm.c's way: fread() into a buffer allocated once, then a loop over the elements
 *     views         x and y are the mapped shard's own tokens: nothing is copied, so it is no loader of int32
 *
 * A batch is the same in all ways. */
#ifndef LOCKSTEP_BATCH_SOURCE_H
#define LOCKSTEP_BATCH_SOURCE_H

#include "feed/shard_set.h"
#include "feed/window_order.h"

#include <stddef.h>

enum source_way {
    SOURCE_ELEMENTS,
    SOURCE_BLOCKS,
    SOURCE_MAPPED,
    SOURCE_PREALLOCATED,
    SOURCE_ADVISED,
    SOURCE_PREFETCHED,
    SOURCE_WINDOWED,
    SOURCE_BUFFERED,
    SOURCE_VIEWS,
    SOURCE_WAYS
};

/* Names, as in the list above. */
extern const char *const source_ways[SOURCE_WAYS];

struct source_settings {
    const struct shard_set
        *set; /* NULL: only `before` is called, and x and y stay NULL (a modelled machine computes nothing) */
    struct window_order order;
    uint64_t rank;
    enum source_way way;
    int width; /* bytes of a token in x and y: 4 (int32), or that of the shards; views have that of the shards */
    void (*before)(void *argument); /* called before each batch is read, by the helper if prefetched; NULL: nothing */
    void *argument;
};

/* Bytes that a madvise() call maps: few calls, and none that takes long. */
enum { SOURCE_ADVICE = 256 << 10 };

/* Tokens of a batch: B x T each, valid until the next call. */
struct token_pair {
    const void *x, *y;
};

/* Batches of a source since it was opened, its reads, and its calls of malloc(). A prefetching helper makes neither. */
struct source_counts {
    uint64_t batches, reads, allocations;
};

struct batch_source;

/* Open a source at the order's step 0. End the program if a shard cannot be read. SOURCE_VIEWS copies a batch that is not in one
 * piece, because it is shuffled or goes on in the next shard. */
struct batch_source *batch_source_open(const struct source_settings *settings);
void batch_source_close(struct batch_source *source);

/* Return the batch of the next step. */
struct token_pair batch_source_next(struct batch_source *source);

/* Return the windows from which the last returned batch was filled, window_order_count() of them, in the order of its rows. The source
 * notes them as it fetches the tokens. They are valid as long as the batch. */
const struct token_window *batch_source_windows(const struct batch_source *source);

/* Wait until a prefetching helper has finished its batch. Other ways make a batch only in batch_source_next(). */
void batch_source_settle(struct batch_source *source);

struct source_counts batch_source_counts(const struct batch_source *source);

#endif
