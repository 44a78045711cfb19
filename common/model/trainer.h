/* trainer: the model, the optimizer and the data of a rank, opened and restarted together, and the parts of a training step. */
#ifndef LOCKSTEP_TRAINER_H
#define LOCKSTEP_TRAINER_H

#include "model/adamw.h"
#include "model/loader.h"
#include "model/model.h"
#include "options/run.h"

#include <stddef.h>

struct trainer {
    struct loader *loader; /* NULL: the caller brings the batches */
    struct model *model;
    struct adamw *optimizer; /* at the model's published learning rate */
    float *parameters;
    float *gradients;       /* this rank's own; after an all-reduce in place, the sum over ranks */
    size_t count;           /* of each of them */
    struct batch_most most; /* largest sizes of batches */
};

/* Open a trainer for batches of at most `most_samples` of the model's default data on this rank. */
struct trainer *trainer_open(const struct workload *workload, const struct run *run, int most_samples);
struct memory_estimate trainer_memory(const struct workload *workload, const struct run *run, int most_samples);

/* Open a trainer without a loader, for the caller's batches. */
struct trainer *trainer_open_for(const struct workload *workload, const struct run *run, struct batch_most most);
struct memory_estimate trainer_memory_for(const struct workload *workload, struct batch_most most);

void trainer_close(struct trainer *trainer);

/* Reset model and optimizer to their initial state, and the loader as loader_restart() does. */
void trainer_restart(struct trainer *trainer, struct share share, int ahead, float scale);

/* Wait until the loader fetches nothing ahead. Its last fetch of a block is one that no step waits for. */
void trainer_settle(struct trainer *trainer);

/* Scale gradients to means over this rank's own samples, until the next restart: a rank that trains alone needs no sum. */
void trainer_average_own_samples(struct trainer *trainer);

/* Train: the next batch (loader_next() with this stall), the passes, and the optimizer's step. */
const struct batch *trainer_next(struct trainer *trainer, struct stall stall);
void trainer_forward(struct trainer *trainer, const struct batch *batch);
void trainer_backward(struct trainer *trainer, const struct batch *batch);
void trainer_update(struct trainer *trainer);

/* Take a step by other gradients (count) than the trainer's own. */
void trainer_update_by(struct trainer *trainer, const float *gradients);

/* Return the mean loss of a sample in the last `passes` forward passes. */
double trainer_loss(const struct trainer *trainer, int passes);

#endif
