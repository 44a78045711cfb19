/* sweep_table: what all-reduces of many sizes take, as rows of a CSV, beside what the card says of them. */
#ifndef LOCKSTEP_SWEEP_TABLE_H
#define LOCKSTEP_SWEEP_TABLE_H

#include "base/csv.h"
#include "card/card.h"

struct world;

/* all: measures 4 B, 16 B, 64 B … up to `most` bytes as far as memory goes, each `repeats` times. `csv` (on rank 0, NULL
 * elsewhere) receives ranks, bytes, time_ms, card_ms, algbw_GB_per_s, busbw_GB_per_s.
 *
 * Algorithm bandwidth is bytes over time. Bus bandwidth is what the slowest link carries: 2 (n - 1) / n times as much, so
 * that numbers of ranks can be compared with each other and with the hardware (nccl-tests, doc/PERFORMANCE.md). */
void sweep_table(struct csv *csv, struct world *world, const struct card *card, double most, int repeats);

#endif
