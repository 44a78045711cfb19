/* batch_table: the batches of all ranks as a table, so that another program can check them. */
#ifndef LOCKSTEP_BATCH_TABLE_H
#define LOCKSTEP_BATCH_TABLE_H

#include "feed/batch_source.h"

#include <stdio.h>

/* Write a row for each step and rank: rank, step, name of the shard and index in it of the batch's first token, and zlib's CRC-32 of
 * its x and of its y as little-endian int32. Steps are counted from 0. If `state_path` is not NULL, go on where that file says
 * (reading_state.h), and after each step write the table so far and then the file. */
void batch_table_write(FILE *out, const struct shard_set *set, struct window_order *order, uint64_t steps,
                       enum source_way way, const char *state_path);

/* Write whether each token is read exactly once in the epoch that step 0 of a first run begins: if published, in the first pass of every
 * rank over all shards; and which are missing or repeated. Return true if none is. Nothing is read; the windows are counted. */
bool batch_table_certify(FILE *out, const struct shard_set *set, const struct window_order *order);

#endif
