/* loader: a synthetic data set, shuffled once and dealt out in global batches.
 *
 * Normal features and random labels, max(2 steps B, 4 B ranks) samples as the posts made theirs (at most 64 global
 * batches, at least one). The t-th fetch takes its part of the t-th global batch of the shuffled order, whatever the
 * ranks' shares: changing who computes a sample does not change which samples a step sees. */
#ifndef LOCKSTEP_LOADER_H
#define LOCKSTEP_LOADER_H

#include "model/mlp.h"
#include "model/stall.h"
#include "options/run.h"

struct loader;

/* What a rank gets of each global batch, in samples. */
struct share {
    int global_batch, first, samples;
};

/* Of a batch dealt evenly to the run's ranks. */
struct share share_even(const struct run *run, int rank);

/* The data set that `run` asks for, alike on every rank, and buffers for shares of at most `most_samples`. */
struct loader *loader_open(const struct run *run, int most_samples);
struct memory_estimate loader_memory(const struct run *run, int most_samples);
void loader_close(struct loader *loader);

/* Back to the first batch. This rank will get its `share` of each, and fetch `ahead` batches early (0 or 1). Each
 * sample's gradient is to be scaled by `scale`. */
void loader_restart(struct loader *loader, struct share share, int ahead, float scale);

/* The next batch; it stays valid until the next call. Fetching one starts with `held_up`, then copies the
 * samples together. With ahead = 0 that happens now; with ahead = 1 this call takes the batch that was fetched aside
 * during the step before and starts the next fetch, which is the one held up. */
const struct batch *loader_next(struct loader *loader, struct stall held_up);

#endif
