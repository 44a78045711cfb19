/* zero: data-parallel training that divides among the ranks of a group what each would otherwise hold whole: ZeRO (Rajbhandari et al.,
 * SC 2020); stage 3 is PyTorch's fully_shard().
 *
 *     stage 0   nothing is divided. An all-reduce adds up all gradients.
 *     stage 1   the optimizer's moments. When backward has computed a layer's gradients, a reduce-scatter adds them up: each rank has the
 *               sum of its part. It updates its part of the parameters, and an all-gather brings the others'.
 *     stage 2   … and the gradients. A layer's gradients exist whole only until the reduce-scatter, in a buffer that all layers share.
 *     stage 3   … and the parameters. An all-gather brings a layer's before a pass uses it, into a buffer that all layers share.
 *
 * With n ranks and P parameters, of which the largest layer has M, a rank holds these floats:
 *
 *     stage           0      1             2                 3                  3, one layer ahead
 *     parameters      P      P             P                 P / n              P / n
 *     gradients       P      P             P / n             P / n              P / n
 *     moments         2 P    2 P / n       2 P / n           2 P / n            2 P / n
 *     communication   0      0             M                 2 M                3 M: buffers for whole layers
 *
 * It sends, and receives, (n - 1) / n of P floats in each reduce-scatter and all-gather of all layers: two of them in stages 0 to 2, almost
 * three in stage 3, because backward finds the last layers where forward has gathered them. */
#ifndef LOCKSTEP_ZERO_H
#define LOCKSTEP_ZERO_H

#include "collective/collective.h"
#include "model/model.h"

#include <stdbool.h>

enum { ZERO_STAGES = 4 };

struct zero_plan {
    int stage; /* 0 … 3 */
    int ahead; /* stage 3: layers that are gathered while one computes. All: like fully_shard() on the whole model alone */
    const char *offload;  /* the moments lie in a file of this folder (moments_file.h); NULL: in memory */
    bool keeps_gradients; /* stages 2 and 3: a mistake. All layers' whole gradients stay until the update */
};

struct zero;

/* all of the group, or of the collective's world if it is NULL: open a model for batches up to `most`. The last part of a layer is filled
 * up with zeros. */
struct zero *zero_open(const struct workload *workload, uint64_t seed, struct batch_most most, struct zero_plan plan,
                       struct collective *collective, const struct group *group);
void zero_close(struct zero *zero);

/* Return the bytes of a rank for a model whose parameters, gradients and moments take `whole` bytes: a rank holds 1 / ranks of
 * what its stage divides. */
struct memory_estimate zero_share(struct memory_estimate whole, int stage, int ranks);

/* Likewise with activations, and buffers for whole layers, of floats. */
struct memory_estimate zero_memory(const struct workload *workload, struct batch_most most, struct zero_plan plan,
                                   int ranks);

/* A collective of a step. */
struct zero_call {
    enum collective_kind kind;
    enum work_pass pass; /* in which it is called: forward, backward or update; */
    int layer;           /* at this layer; */
    bool is_ahead;       /* for the layer after it, while this one computes */
    size_t count;        /* floats, as in struct collective_op: of a part, except of an all-reduce */
};

/* List the collectives of a step of `ranks` ranks in their order, unless `calls` is NULL. Return their number, at most ZERO_CALLS_MOST. */
enum { ZERO_CALLS_MOST = 4 * LAYERS_MOST };
int zero_calls(const struct workload *workload, struct zero_plan plan, int ranks, struct zero_call *calls);

/* all of the group: train. After backward each rank has its gradients, or its part of them, summed over the ranks. */
void zero_forward(struct zero *zero, const struct batch *batch);
void zero_backward(struct zero *zero, const struct batch *batch);
void zero_update(struct zero *zero);

/* Return the model, for its losses. Its parameters are in its layers only while a pass uses them. */
const struct model *zero_model(const struct zero *zero);

/* all of the group: write the whole model's parameters to out (count of the model), device memory. */
void zero_gather(struct zero *zero, float *out);

#endif
