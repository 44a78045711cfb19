/* worker_loader: batches made by workers beside the step, as PyTorch's DataLoader with num_workers makes them.
 *
 *     batch i is made by worker i mod workers, and batches are taken in order
 *     a worker has at most WORKER_LOADER_AHEAD batches made or begun and not taken (prefetch_factor): taking batch i lets its worker
 *         begin batch i + ahead x workers
 *     with 0 workers the step makes its batches itself
 *
 * Making a batch is, per sample: a stall (asleep, as for a disk or the network; or busy, as for decoding), copying the sample, and
 * `rounds` of a transform: x = tanh(1.01 x + 0.01) for each feature, then all features move by one place. The samples of a step do
 * not depend on the number of workers. Workers are threads on any core of the job; in a simulation, processes on the rank's host.
 * card/worker_queue.h computes the steps of such a job. Sources of the rules: there. */
#ifndef LOCKSTEP_WORKER_LOADER_H
#define LOCKSTEP_WORKER_LOADER_H

#include "model/loader.h"

#include <stdbool.h>

enum { WORKER_LOADER_MOST = 64, WORKER_LOADER_AHEAD = 2 };

struct worker_loader;

/* Settings for making batches. */
struct worker_loader_plan {
    int workers;
    struct stall per_sample;
    int rounds;       /* of the transform */
    bool from_memory; /* all samples are transformed at the restart, without a stall; making a batch only copies them */
};

/* Open the data set of workload and run, which must have features, and buffers for shares of at most `most_samples` and at most
 * `most_workers` workers. Its helpers count as the lab's (lab_spec.h). spare_cores: cores that no rank has, to which workers go while
 * their rank computes. */
struct worker_loader *worker_loader_open(const struct workload *workload, const struct run *run, int most_samples,
                                         int most_workers, int spare_cores);

/* Return its memory. `has_ready`: a plan takes batches from memory (from_memory), for which it keeps the set transformed. */
struct memory_estimate worker_loader_memory(const struct workload *workload, const struct run *run, int most_samples,
                                            int most_workers, bool has_ready);
void worker_loader_close(struct worker_loader *loader);

/* Return to the first batch and let the workers begin. This rank gets its `share` of each batch, and scales each sample's gradient by
 * `scale`. */
void worker_loader_restart(struct worker_loader *loader, struct share share, float scale,
                           struct worker_loader_plan plan);

/* Return the next batch, valid until the next call; wait for it if its worker is not done. The device must have finished all work on
 * earlier batches, as for loader_next(). */
const struct batch *worker_loader_next(struct worker_loader *loader);

/* Let the workers drop what they make, and wait until they rest. */
void worker_loader_settle(struct worker_loader *loader);

/* Waits since the restart: seconds in worker_loader_next(), and batches that were not ready when taken. With 0 workers none is ready. */
struct worker_loader_waits {
    double seconds;
    int taken, empty;
};
struct worker_loader_waits worker_loader_waits(const struct worker_loader *loader);

/* Transform a sample (features) `rounds` times, in place. */
void worker_loader_transform(float *sample, int features, int rounds);

/* Properties of a modelled machine's hosts: seconds of a round of the transform for one feature, and of taking a worker's batch. */
#define WORKER_LOADER_TRANSFORM "transform_s"
#define WORKER_LOADER_TAKE      "handoff_s"

#endif
