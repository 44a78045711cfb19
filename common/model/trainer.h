/* trainer: the loader, model and optimizer of a rank, opened and restarted together. */
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
    size_t count;            /* number of the model's parameters */
};

/* Open a trainer for batches of at most `most_samples` on this rank. */
struct trainer trainer_open(const struct run *run, int most_samples);
void trainer_close(struct trainer *trainer);
struct memory_estimate trainer_memory(const struct run *run, int most_samples);

/* Reset model and optimizer to their initial state; restart the loader as loader_restart() does. */
void trainer_restart(struct trainer *trainer, struct share share, int ahead, float scale);

#endif
