/* sequence_recipe: the sequences that a transformer's settings describe. */
#ifndef LOCKSTEP_SEQUENCE_RECIPE_H
#define LOCKSTEP_SEQUENCE_RECIPE_H

#include "model/tokens.h"
#include "model/transformer.h"
#include "options/run.h"

/* Return the recipe of a run's sequences, of one length or of many. */
struct token_recipe sequence_recipe(const struct transformer_settings *settings, const struct run *run, bool is_fixed);

#endif
