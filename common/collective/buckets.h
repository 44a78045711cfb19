/* buckets: gradients cut into pieces, each of which starts its all-reduce as soon as backward has it: what travels beside
 * the rest of backward is hidden. Many buckets start early and pay each message's fixed cost; in few, most waits for the
 * end.
 *
 * Layers count down in backward. Sizes are in floats. */
#ifndef LOCKSTEP_BUCKETS_H
#define LOCKSTEP_BUCKETS_H

#include "collective/collective.h"

#include <stddef.h>

enum { BUCKETS_MOST = COLLECTIVE_STARTED_MOST / 2 }; /* of one array; two may be under way */

struct bucket {
    size_t begin, count;
    int layer; /* ready when backward has done this one */
};

struct buckets {
    int count;
    struct bucket at[BUCKETS_MOST];
};

/* Pieces of at most `most` of an array that `layers` layers bring forth in equal parts. */
int buckets_needed(size_t floats, size_t most); /* to be refused above BUCKETS_MOST */
struct buckets buckets_cut(size_t floats, size_t most, int layers);

/* Sums that were started and are not finished. */
struct started_sums {
    int count, ticket[COLLECTIVE_STARTED_MOST];
};

/* Starts the buckets that `layer` makes ready: receive = sum over ranks of send, both being the whole array. */
void buckets_start(const struct buckets *buckets, int layer, struct collective *collective, const float *send,
                   float *receive, struct started_sums *started);

/* Waits for all of them, in order. */
void buckets_finish(struct started_sums *started, struct collective *collective);

#endif
