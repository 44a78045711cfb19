/* token_table: the batches of a batch schedule, as rows of a CSV. */
#ifndef LOCKSTEP_TOKEN_TABLE_H
#define LOCKSTEP_TOKEN_TABLE_H

#include "base/csv.h"
#include "model/tokens.h"

/* Write a row per step and rank: case, step, rank, useful_tokens, padded_tokens, samples, max_len. */
void token_table_batches(struct csv *csv, const char *name, const struct batch_schedule *schedule, int steps);

/* Write cells with the means over the first `steps` steps of a schedule; the caller ends the row. */
void token_table_means(struct csv *csv, const struct batch_schedule *schedule, int steps);

#endif
