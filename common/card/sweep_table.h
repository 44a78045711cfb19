/* sweep_table: times of all-reduces of many sizes as rows of a CSV, beside the card's predictions. */
#ifndef LOCKSTEP_SWEEP_TABLE_H
#define LOCKSTEP_SWEEP_TABLE_H

#include "base/check_failures.h"
#include "base/csv.h"
#include "card/card.h"

struct world;

/* all: measure 4 B, 16 B, 64 B … up to `most` bytes as far as memory goes, each `repeats` times. `csv` (on rank 0, NULL
 * elsewhere) receives ranks, bytes, time_ms, card_ms, algbw_GB_per_s, busbw_GB_per_s. Return the failed checks on rank 0.
 *
 * Algorithm bandwidth is bytes over time. Bus bandwidth is what the slowest link carries: 2 (n - 1) / n times as much. It can be
 * compared between world sizes and with the hardware (nccl-tests, doc/PERFORMANCE.md). */
struct check_failures sweep_table(struct csv *csv, struct world *world, const struct card *card, double most,
                                  int repeats);

#endif
