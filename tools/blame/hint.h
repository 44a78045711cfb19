/* hint: what to look at next, given what a case's steps are made of. */
#ifndef LOCKSTEP_HINT_H
#define LOCKSTEP_HINT_H

#include "report/run_report.h"

/* A line that begins with "Next: " and names the lesson that tries what helps, after an empty one. */
void hint_tell(FILE *out, const struct outcome *outcome);

#endif
