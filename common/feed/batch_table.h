/* batch_table: the batches of all ranks as a table, so that another program can check them. */
#ifndef LOCKSTEP_BATCH_TABLE_H
#define LOCKSTEP_BATCH_TABLE_H

#include "feed/batch_source.h"

#include <stdio.h>

/* Write a row for each step and rank: rank, step, name of the shard and index in it of the batch's first token, and zlib's CRC-32 of
 * its x and of its y as little-endian int32. Steps are counted from 0.
 *
 * If `state_path` is not NULL, go on where that file says (reading_state.h), count on its steps, and after each step write the table so
 * far and then the file. A kill between the two leaves rows of a step in the table that the file does not have. If `out` is appended to
 * one file, such rows are cut off on resume, so each row is there once, whenever the program was killed. A pipe cannot be cut: there such
 * a step comes twice, with the same number. End the program rather than cut anything but rows of that step. */
void batch_table_write(FILE *out, const struct shard_set *set, struct window_order *order, uint64_t steps,
                       enum source_way way, const char *state_path);

#endif
