/* rounds_table: rounds.csv, a row per case and round. Claims about time are judged by these rows (tools/claims). */
#ifndef LOCKSTEP_ROUNDS_TABLE_H
#define LOCKSTEP_ROUNDS_TABLE_H

#include "report/run_report.h"

/* Write the rounds of this run. If the report keeps earlier rounds, the rows that are there come first, and this run is one more
 * launch. They must come from the same command on the same machine with the same program; only budgets and numbers of rounds may
 * differ. Otherwise print why they are dropped. */
void rounds_table_write(const struct report *report);

/* Return true if the report's folder holds a table of this name from such a run. */
bool rounds_table_has_alike(const struct report *report, const char *name);

#endif
