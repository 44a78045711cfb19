/* terminal_tables: prints the results of a run on the terminal. */
#ifndef LOCKSTEP_TERMINAL_TABLES_H
#define LOCKSTEP_TERMINAL_TABLES_H

#include "report/run_report.h"

/* Print a row per case: guess and prediction, if any, and the measurement. A wide terminal also shows the blamed rank and the terms
 * of the step, which add up to it; `host` is left out where it is 0 in all cases. Below: the tokens that an epoch drops. */
void table_show(FILE *out, const struct report *report, int columns);

/* Print the sentences below the table: the gap between prediction, if any, and measurement, the cost of the stamps, the run-queue
 * delay, table_blame() of the case `name`, and what bounds its step. */
void table_explain(FILE *out, const struct report *report, const char *name);

/* Print the results of spans alone: the cost of waiting in this case, and its step without that waiting. Compared with the baseline,
 * unless a check of the baseline failed. */
void table_blame(FILE *out, const struct report *report, const struct outcome *outcome);

/* Print a row per rank of a case with all terms; of many ranks, those that the others waited for longest. */
void table_ranks(FILE *out, const struct outcome *outcome);

#endif
