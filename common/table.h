/* table: what a run found, in the terminal. */
#ifndef LOCKSTEP_TABLE_H
#define LOCKSTEP_TABLE_H

#include "report.h"

/* A row per case: you (where somebody guessed), the formula, the measurement; and where the terminal is wide enough, the
 * terms of the step and who is to blame. */
void table_show(FILE *out, const struct report *report, int columns);

/* The sentences under it: where formula and measurement part, what waiting cost in the case `name`, what the step had
 * been without it, and what the stamps cost. */
void table_explain(FILE *out, const struct report *report, const char *name);

#endif
