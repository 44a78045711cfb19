/* table: what a run found, in the terminal. */
#ifndef LOCKSTEP_TABLE_H
#define LOCKSTEP_TABLE_H

#include "report/run_report.h"

/* A row per case: you (where somebody guessed), the formula (where there is one), the measurement; and where the
 * terminal is wide enough, the terms of the step and who is to blame. */
void table_show(FILE *out, const struct report *report, int columns);

/* The sentences under it: where formula and measurement part, what waiting cost in the case `name`, what the step had
 * been without it, and what the stamps cost. */
void table_explain(FILE *out, const struct report *report, const char *name);

/* Of them, those that spans alone can tell: what waiting cost in this case, and what its step had been without it,
 * beside the baseline if there is another one and its checks held. */
void table_blame(FILE *out, const struct report *report, const struct outcome *outcome);

/* A row per rank of a case, all terms; of many ranks those that the others waited for longest. */
void table_ranks(FILE *out, const struct outcome *outcome);

#endif
