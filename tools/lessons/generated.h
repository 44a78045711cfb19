/* generated: what stands between a marker and its <!-- end -->.
 *
 *     table [WHERE]     a Markdown table; the lines of the marker below the first are
 *                           head: TEXT                                 above the rows' labels (default: none)
 *                           row: CASE [| LABEL]                        or row: KEY=VALUE… | LABEL, a row of another table
 *                           column: HEAD | FORMAT | [WHERE:] EXPRESSION
 *                       FORMAT is the number of decimals, perhaps + before it and a unit behind it ("+1 ms"), or `text`
 *     lanes [WHERE:] CASE [CASE]…     the text lanes of these cases, in a code block; or lanes [WHERE], and below it rows
 *                           row: CASE [| TITLE]
 *     machine [WHERE]   the ranks, the machine, the rounds and the day of a run, within a line */
#ifndef LOCKSTEP_LESSONS_GENERATED_H
#define LOCKSTEP_LESSONS_GENERATED_H

#include "marker.h"

/* Return the text that belongs behind the comment; NULL if the run lacks it (complained). Free it. */
char *generated_table(struct check *check, const struct comment *comment);
char *generated_lanes(struct check *check, const struct comment *comment);
char *generated_machine(struct check *check, const struct comment *comment);

#endif
