/* shards: a model whose parameters, gradients and optimizer state are divided among the ranks of a group: ZeRO stage 3
 * (Rajbhandari et al., SC 2020), PyTorch's fully_shard().
 *
 * Each rank keeps a shard of every layer. Before a pass uses a layer, an all-gather brings its parameters into a buffer that all
 * layers share. When backward has computed a layer's gradients, a reduce-scatter adds them up over the ranks, each its own shard.
 * With n ranks and P parameters, of which the largest layer has M, a rank holds 4 P / n + 2 M floats instead of 4 P. It receives
 * (n - 1) / n of P floats in each pass, and as many in the reduce-scatters. */
#ifndef LOCKSTEP_SHARDS_H
#define LOCKSTEP_SHARDS_H

#include "collective/collective.h"
#include "model/model.h"

struct shards;

/* all of the group: open a model in shards, for batches up to `most`. The last shard of a layer is filled up with zeros. */
struct shards *shards_open(const struct workload *workload, uint64_t seed, struct batch_most most,
                           struct collective *collective, const struct group *group);
void shards_close(struct shards *shards);
struct memory_estimate shards_memory(const struct workload *workload, struct batch_most most, int ranks);

/* Reset the parameters, to those of model_restart(), and the optimizer. */
void shards_restart(struct shards *shards);

/* all of the group: train. After backward each rank has its shards of the gradients, summed over the ranks. */
void shards_forward(struct shards *shards, const struct batch *batch);
void shards_backward(struct shards *shards, const struct batch *batch);
void shards_update(struct shards *shards);
double shards_loss(const struct shards *shards, int passes);

/* all of the group: write the whole model's parameters to out (count of the model), device memory. */
void shards_gather(struct shards *shards, float *out);

#endif
