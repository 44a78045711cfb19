/* memory_table: the memory of each rank by owner: predicted, by the ledger, and by the kernel. */
#ifndef LOCKSTEP_MEMORY_TABLE_H
#define LOCKSTEP_MEMORY_TABLE_H

#include "report/run_report.h"

#include <stdio.h>

/* Keep the activations by layer from this rank's ledger. Call it on rank 0 after a block. */
void memory_table_take_layers(struct outcome *outcome);

/* Write the memory of the rank that holds most in a case, as columns in MB: each owner, the sum of those predicted, and its prediction.
 * Blank if it was not counted. */
void memory_table_columns(struct csv *csv, const struct outcome *outcome);

/* Write memory.csv: a row per case, place and owner, and ranks that hold the same. */
void memory_table_write(const struct report *report);

/* Print the parts of the baseline's largest rank in a sentence. */
void memory_table_show(FILE *out, const struct report *report);

#endif
