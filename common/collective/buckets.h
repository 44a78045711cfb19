/* buckets: gradients cut into pieces. A bucket starts its all-reduce as soon as backward has computed it, so the transfer is hidden
 * behind the rest of backward. Many buckets start early but pay each message's fixed cost. With few, most data waits for the end.
 *
 * Layers count down in backward. Sizes are in floats. */
#ifndef LOCKSTEP_BUCKETS_H
#define LOCKSTEP_BUCKETS_H

#include "collective/collective.h"
#include "model/workload.h"

#include <stddef.h>

enum { BUCKETS_MOST = COLLECTIVE_STARTED_MOST / 2 }; /* per array; two arrays may be in flight */

struct bucket {
    size_t begin, count;
    int layer;                     /* the bucket is ready when backward has done this layer */
    int first_tensor, last_tensor; /* of a model's gradients: the lowest and the highest number of its tensors */
};

struct buckets {
    int count;
    struct bucket at[BUCKETS_MOST];
};

/* Cut an array into buckets of at most `most` floats; each of `layers` layers computes an equal part of the array. */
int buckets_needed(size_t floats, size_t most); /* callers refuse more than BUCKETS_MOST */
struct buckets buckets_cut(size_t floats, size_t most, int layers);

/* Put the tensors of a model (count) into buckets, in this order (count; NULL: from the last to the first, as backward computes them).
 * The rule is that of PyTorch's DDP (compute_bucket_assignment_by_size() in torch/csrc/distributed/c10d/reducer.cpp): tensors are not
 * divided; a bucket is full as soon as it has `first` floats, if it is the first one, or `most`. It is also full if the next tensor is
 * not its neighbour, because a bucket is one piece of the array of all gradients. Callers refuse a count above BUCKETS_MOST, whose
 * buckets are not all there. */
struct buckets buckets_of_tensors(const struct model_tensor *tensors, const int *order, int count, size_t first,
                                  size_t most);

/* Return the bucket of neighbouring tensors. */
struct bucket bucket_of_tensors(const struct model_tensor *tensors, int first_tensor, int last_tensor);

/* Put the gradients of a model into buckets, in the order of backward or in that of the model. */
struct buckets buckets_of_model(const struct workload *workload, bool in_model_order, size_t first, size_t most);

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
