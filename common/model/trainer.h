/* trainer: the loader, model and optimizer of a rank, opened and restarted together, and the parts of a training step. */
#ifndef LOCKSTEP_TRAINER_H
#define LOCKSTEP_TRAINER_H

#include "model/adamw.h"
#include "model/loader.h"
#include "model/mlp.h"
#include "options/run.h"

#include <stddef.h>

struct trainer {
    struct loader *loader;
    struct mlp *model;
    struct adamw *optimizer; /* at the published learning rate, 1e-3 */
    float *parameters;
    float *gradients; /* this rank's own; after an all-reduce in place, the sum over ranks */
    size_t count;     /* of each of them */
};

/* Open a trainer for batches of at most `most_samples` on this rank. */
struct trainer trainer_open(const struct run *run, int most_samples);
void trainer_close(struct trainer *trainer);
struct memory_estimate trainer_memory(const struct run *run, int most_samples);

/* Reset model and optimizer to their initial state; restart the loader as loader_restart() does. trainer_restart_even() gives the
 * rank an even share of each global batch, and gradients whose sum over ranks is the global batch's mean. */
void trainer_restart(struct trainer *trainer, struct share share, int ahead, float scale);
void trainer_restart_even(struct trainer *trainer, const struct run *run, int rank);

/* Train: the next batch (loader_next() with this stall), the passes, and the optimizer's step. */
const struct batch *trainer_next(struct trainer *trainer, struct stall stall);
void trainer_forward(struct trainer *trainer, const struct batch *batch);
void trainer_backward(struct trainer *trainer, const struct batch *batch);
void trainer_update(struct trainer *trainer);

/* Return the mean loss of a sample in the last `passes` forward passes. */
double trainer_loss(const struct trainer *trainer, int passes);

#endif
