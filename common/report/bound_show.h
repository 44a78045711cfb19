/* bound_show: the sentences on the terminal about the causes of a step (analysis/split.h). */
#ifndef LOCKSTEP_BOUND_SHOW_H
#define LOCKSTEP_BOUND_SHOW_H

#include "report/run_report.h"

/* Print the shares of a case's step and what bounds it; and, if the case is slower than the baseline for certain, the cause that has
 * at least half of the difference. Nothing after a failed check. */
void bound_show(FILE *out, const struct outcome *outcome, const struct outcome *baseline);

#endif
