/* buckets: gradients cut into pieces. A bucket starts its all-reduce as soon as backward has computed it, so the transfer is hidden
 * behind the rest of backward. Many buckets start early but pay each message's fixed cost. With few, most data waits for the end.
 *
 * Layers count down in backward. Sizes are in floats. */
#ifndef LOCKSTEP_BUCKETS_H
#define LOCKSTEP_BUCKETS_H

#include "collective/collective.h"

#include <stddef.h>

enum { BUCKETS_MOST = COLLECTIVE_STARTED_MOST / 2 }; /* per array; two arrays may be in flight */

struct bucket {
    size_t begin, count;
    int layer; /* the bucket is ready when backward has done this layer */
};

struct buckets {
    int count;
    struct bucket at[BUCKETS_MOST];
};

/* Cut an array into buckets of at most `most` floats; each of `layers` layers computes an equal part of the array. */
int buckets_needed(size_t floats, size_t most); /* callers refuse more than BUCKETS_MOST */
struct buckets buckets_cut(size_t floats, size_t most, int layers);

/* Sums that are started and not finished. */
struct started_sums {
    int count, ticket[COLLECTIVE_STARTED_MOST];
};

/* Start the all-reduces of the buckets that `layer` makes ready: receive = sum over ranks of send; both are the whole array. */
void buckets_start(const struct buckets *buckets, int layer, struct collective *collective, const float *send,
                   float *receive, struct started_sums *started);

/* Wait for all started sums, in order. */
void buckets_finish(struct started_sums *started, struct collective *collective);

#endif
