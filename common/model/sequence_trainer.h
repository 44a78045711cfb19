/* sequence_trainer: the transformer and optimizer of a rank, opened and restarted together. Sequences come from a
 * separate loader. */
#ifndef LOCKSTEP_SEQUENCE_TRAINER_H
#define LOCKSTEP_SEQUENCE_TRAINER_H

#include "model/adamw.h"
#include "model/sequence_loader.h"
#include "model/transformer.h"
#include "options/run.h"

#include <stddef.h>

struct sequence_trainer {
    struct transformer *model;
    struct adamw *optimizer; /* at the published learning rate, 2e-3 */
    size_t count;            /* number of the model's parameters */
};

/* Return the settings of the run's flags. */
struct token_recipe sequence_recipe(const struct run *run, bool is_fixed);
struct transformer_shape sequence_shape(const struct run *run);

/* Open a trainer for batches of at most `most`. */
struct sequence_trainer sequence_trainer_open(const struct run *run, struct token_most most);
void sequence_trainer_close(struct sequence_trainer *trainer);
struct memory_estimate sequence_trainer_memory(const struct transformer_shape *shape, double rows, double texts,
                                               int length);

/* Return the memory of a loader, its corpus and a batch schedule, for batches of so many rows and sequences. */
struct memory_estimate sequence_reading_memory(const struct token_recipe *recipe, double rows, double texts);

/* Reset model and optimizer to their initial state. */
void sequence_trainer_restart(struct sequence_trainer *trainer);

#endif
