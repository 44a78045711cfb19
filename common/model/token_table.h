/* token_table: what a plan deals, as rows of a CSV. */
#ifndef LOCKSTEP_TOKEN_TABLE_H
#define LOCKSTEP_TOKEN_TABLE_H

#include "base/csv.h"
#include "model/tokens.h"

/* A row per step and rank: case, step, rank, useful_tokens, padded_tokens, samples, max_len. */
void token_table_batches(struct csv *csv, const char *name, const struct batch_schedule *plan, int steps);

/* The cells of a row that say what `steps` steps of a plan are like; the caller ends the row. */
void token_table_means(struct csv *csv, const struct batch_schedule *plan, int steps);

#endif
