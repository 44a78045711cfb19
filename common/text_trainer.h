/* text_trainer: what a rank trains a transformer with, opened and started over together. Texts come from a loader beside it. */
#ifndef LOCKSTEP_TEXT_TRAINER_H
#define LOCKSTEP_TEXT_TRAINER_H

#include "adamw.h"
#include "run.h"
#include "text_loader.h"
#include "transformer.h"

#include <stddef.h>

struct text_trainer {
    struct transformer *model;
    struct adamw *optimizer; /* at the published learning rate, 2e-3 */
    size_t count;            /* of the model's parameters */
};

/* What the run's flags say. */
struct token_recipe text_recipe(const struct run *run, bool is_fixed);
struct transformer_shape text_shape(const struct run *run);

/* For batches of at most `most`. */
struct text_trainer text_trainer_open(const struct run *run, struct token_most most);
void text_trainer_close(struct text_trainer *trainer);
struct needs text_trainer_need(const struct transformer_shape *shape, double rows, double texts, int length);

/* Of a loader with its corpus and a plan, for batches of so many rows and texts. */
struct needs text_reading_need(const struct token_recipe *recipe, double rows, double texts);

/* Model and optimizer as they were at first. */
void text_trainer_restart(struct text_trainer *trainer);

#endif
