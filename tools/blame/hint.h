/* hint: suggests what to look at next, from the parts of a case's steps. */
#ifndef LOCKSTEP_HINT_H
#define LOCKSTEP_HINT_H

#include "report/run_report.h"

/* Print an empty line, then a line that begins with "Next: " and names the lesson that tries fixes. */
void hint_tell(FILE *out, const struct outcome *outcome);

#endif
