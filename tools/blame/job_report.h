/* job_report: the cases of a file of spans, as a run of a lab has them. */
#ifndef LOCKSTEP_JOB_REPORT_H
#define LOCKSTEP_JOB_REPORT_H

#include "report/run_report.h"
#include "spans_file.h"

/* Return the index of a case. If there is none, end the program if a flag asks for it, else return 0. */
int job_report_case(const struct spans_file *file, const char *flag, const char *name);

/* Compute all cases. The first outcome is the baseline: the one named, else the case `baseline`, else the first of the file. */
struct report job_report_open(const struct spans_file *file, const char *folder, const char *named_baseline);
void job_report_close(struct report *report);

/* Return the case to explain: `name`, else the case other than the baseline whose ranks wait longest. */
const struct outcome *job_report_shown(const struct report *report, const char *name);

#endif
