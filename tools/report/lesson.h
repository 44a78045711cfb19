/* lesson: a page of notebooks-md/ as HTML, with the charts and tables of this run in place of its own.
 *
 * In a lesson,
 *     a paragraph of pictures, ![alt](img/NN_name_CHART.png), is where the run's CHART of that lab comes; a paragraph behind
 *     it that is *emphasised* as a whole is the caption, which tells where the numbers in the text come from;
 *     <!-- this run: TABLE --> on a line of its own is where the run's table comes: `cases`, `claims`, or the name of
 *     another CSV file of the lab. */
#ifndef LOCKSTEP_LESSON_H
#define LOCKSTEP_LESSON_H

#include "figure.h"
#include "findings.h"
#include "markdown.h"

#include <stdbool.h>
#include <stdio.h>

struct lesson {
    char *folder; /* notebooks-md */
    char *stem;   /* "01_straggler", "gpus" */
    char *title;  /* its first heading */
    cmark_node *document;
};

/* Ends the program where the file cannot be read or has no heading. */
struct lesson lesson_open(const char *folder, const char *stem);
void lesson_close(struct lesson *lesson);

/* Makes links lead to the pages of all lessons, (count); to files of the source, which are not among the results, none
 * leads. Once for each lesson, before the rest. */
void lesson_link(struct lesson *lesson, const struct lesson *all, int count);

/* The paragraphs below the n-th section's heading (from 1), as HTML; "" where there are none. Free it. */
char *lesson_section(const struct lesson *lesson, int n);

/* The chart that its first picture is, "timeline" of img/01_straggler_timeline.png; NULL for none. Free it. */
char *lesson_first_chart(const struct lesson *lesson);

/* Writes the lesson, whose document is changed by that, with what was found of its lab (NULL: it belongs to no lab) and
 * what must hold. */
void lesson_put(FILE *out, struct lesson *lesson, const struct lab_findings *findings, const struct csv_table *claims,
                struct figures *figures);

#endif
