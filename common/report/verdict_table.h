/* verdict_table: the bound of each case's step, by the changes of --verdict (lab_change in frame/lab_spec.h; analysis/bound_by.h has the
 * rule). Nothing in a run without --verdict. */
#ifndef LOCKSTEP_VERDICT_TABLE_H
#define LOCKSTEP_VERDICT_TABLE_H

#include "report/run_report.h"

/* Write verdict.csv: a row per case and suspect, and one for the rest of the step. Shares are blank after a failed check. */
void verdict_write(const struct report *report);

/* Print a sentence per case. */
void verdict_show(FILE *out, const struct report *report);

#endif
