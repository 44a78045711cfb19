/* partial: what can be said when ranks of the job have no trace. */
#ifndef LOCKSTEP_PARTIAL_H
#define LOCKSTEP_PARTIAL_H

#include "report/run_report.h"

/* Withdraw the blame of a case if a rank without a trace may be the cause, and return a sentence with the reason; else NULL. Free
 * it. A rank that is not recorded may arrive at any time before the others leave. So the last recorded rank explains a collective's
 * end only if it was followed by it soon: in less than half of the time by which this rank was late. */
char *partial_withdraw(struct outcome *outcome);

#endif
