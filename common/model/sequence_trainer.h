/* text_trainer: what a rank trains a transformer with, opened and started over together. Texts come from a loader beside it. */
#ifndef LOCKSTEP_TEXT_TRAINER_H
#define LOCKSTEP_TEXT_TRAINER_H

#include "model/adamw.h"
#include "model/sequence_loader.h"
#include "model/transformer.h"
#include "options/run.h"

#include <stddef.h>

struct sequence_trainer {
    struct transformer *model;
    struct adamw *optimizer; /* at the published learning rate, 2e-3 */
    size_t count;            /* of the model's parameters */
};

/* What the run's flags say. */
struct token_recipe sequence_recipe(const struct run *run, bool is_fixed);
struct transformer_shape sequence_shape(const struct run *run);

/* For batches of at most `most`. */
struct sequence_trainer sequence_trainer_open(const struct run *run, struct token_most most);
void sequence_trainer_close(struct sequence_trainer *trainer);
struct memory_estimate sequence_trainer_memory(const struct transformer_shape *shape, double rows, double texts,
                                               int length);

/* Of a loader with its corpus and a plan, for batches of so many rows and texts. */
struct memory_estimate sequence_reading_memory(const struct token_recipe *recipe, double rows, double texts);

/* Model and optimizer as they were at first. */
void sequence_trainer_restart(struct sequence_trainer *trainer);

#endif
