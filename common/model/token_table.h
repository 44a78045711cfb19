/* token_table: the batches of a batch schedule, as rows of a CSV. */
#ifndef LOCKSTEP_TOKEN_TABLE_H
#define LOCKSTEP_TOKEN_TABLE_H

#include "base/csv.h"
#include "model/tokens.h"

/* Write a row per step and rank: case, step, rank, useful_tokens, padded_tokens, samples, max_len. */
void token_table_batches(struct csv *csv, const char *name, const struct batch_schedule *schedule, int steps);

/* Write cells with the length of an epoch, what it drops, and the means over its steps; the caller ends the row. */
void token_table_means(struct csv *csv, const struct batch_schedule *schedule);

/* Write cells with the length of an epoch and what it drops; blank if `epoch` is NULL. */
void token_table_epoch(struct csv *csv, const struct token_epoch *epoch);

#endif
