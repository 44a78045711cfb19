/* trainer: what a rank trains with, opened and started over together. */
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
    size_t count;            /* of the model's parameters */
};

/* `most_samples`: in a batch of this rank. */
struct trainer trainer_open(const struct run *run, int most_samples);
void trainer_close(struct trainer *trainer);
struct memory_estimate trainer_memory(const struct run *run, int most_samples);

/* Model and optimizer as they were at first; the loader as loader_restart() has it. */
void trainer_restart(struct trainer *trainer, struct share share, int ahead, float scale);

#endif
