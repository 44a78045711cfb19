/* rewrite: compares the numbers, tables and lanes of a text with the runs that its markers name, and gives the text that agrees. */
#ifndef LOCKSTEP_LESSONS_REWRITE_H
#define LOCKSTEP_LESSONS_REWRITE_H

#include "marker.h"

/* Return the text with the values of the runs. Complain of each value that differs, unless `writes`. Free the text. */
char *rewrite(struct check *check, bool writes);

/* True if the comment is one of ours. */
bool rewrite_is_marker(const struct check *check, const struct comment *comment);

#endif
