/* loader: a synthetic data set, shuffled once and read in global batches.
 *
 * Samples are what the workload's model trains on: features, normally distributed, or sequences of random words, all of
 * fixed_length; labels are random. There are max(2 steps B, 4 B ranks) samples as in the posts (at most 64 global batches, at least
 * one). Fetch t takes a share of global batch t of the shuffled order. The samples of a step do not depend on the ranks' shares. */
#ifndef LOCKSTEP_LOADER_H
#define LOCKSTEP_LOADER_H

#include "model/batch.h"
#include "model/stall.h"
#include "model/workload.h"

struct loader;

/* Share of a rank in each global batch, in samples. */
struct share {
    int global_batch, first, samples;
};

/* Return a rank's share of a batch divided evenly among the run's ranks. */
struct share share_even(const struct run *run, int rank);

/* Return rank's share of a batch that is dealt out as samples (ranks). */
struct share share_dealt(const int *samples, int ranks, int rank);

/* Open the data set that workload and run ask for, equal on all ranks, and buffers for shares of at most `most_samples`. */
struct loader *loader_open(const struct workload *workload, const struct run *run, int most_samples);
struct memory_estimate loader_memory(const struct workload *workload, const struct run *run, int most_samples);
void loader_close(struct loader *loader);

/* Return the largest sizes of batches of `most_samples` samples. */
struct batch_most loader_most(const struct workload *workload, int most_samples);

/* Return to the first batch. This rank gets its `share` of each, prefetches `ahead` batches (0 or 1), and scales each
 * sample's gradient by `scale`. */
void loader_restart(struct loader *loader, struct share share, int ahead, float scale);

/* Wait until no fetch runs ahead. */
void loader_settle(struct loader *loader);

/* Scale each sample's gradient by 1 / samples of the share, until the next restart. */
void loader_average_own_samples(struct loader *loader);

/* Return the next batch, valid until the next call. A fetch begins with stall `held_up`, then gathers its samples. With
 * ahead = 0 this call fetches. With ahead = 1 this call takes the batch prefetched during the step before, and starts
 * the next fetch, which is the one that stalls.
 *
 * The device must have finished all work on earlier batches when this is called, because the next fetch overwrites the buffer of the
 * batch before. The loader does not wait for that itself: lab_phase(SPAN_DATA), which comes first in a step, waits. */
const struct batch *loader_next(struct loader *loader, struct stall held_up);

#endif
