/* lesson: a page of notebooks-md/ as HTML, with the charts and tables of this run in place of its own.
 *
 * In a lesson,
 *     a paragraph of pictures, ![alt](img/NN_name_CHART.png), is where the run's CHART of that lab comes; a paragraph behind
 *     it that is *emphasised* as a whole is the caption, which tells where the numbers in the text come from;
 *     <!-- this run: TABLE --> on a line of its own is where the run's table comes: `cases`, `claims`, or the name of
 *     another CSV file of the lab.
 * Markdown is read and rendered by cmark-gfm, GitHub's own library. */
#ifndef LOCKSTEP_LESSON_H
#define LOCKSTEP_LESSON_H

#include "figure.h"
#include "findings.h"

#include <stdbool.h>
#include <stdio.h>

struct cmark_node;

struct lesson {
    char *folder; /* notebooks-md */
    char *stem;   /* "01_straggler", "gpus" */
    char *title;  /* its first heading */
    struct cmark_node *document;
};

/* Ends the program where the file cannot be read or has no heading. */
struct lesson lesson_open(const char *folder, const char *stem);
void lesson_close(struct lesson *lesson);

/* The paragraph of text below the heading that is its n-th section (from 1), as HTML. Free it; NULL where there is none. */
char *lesson_section(const struct lesson *lesson, int n);

/* The chart that its first picture is, "timeline" of img/01_straggler_timeline.png; NULL for none. Free it. */
char *lesson_first_chart(const struct lesson *lesson);

/* What a lesson is filled with: its lab's findings (none: of a lesson that belongs to no lab), what must hold, and the
 * pages that other lessons have, NULL-terminated stems. */
struct filling {
    const struct lab_findings *findings;
    const struct csv_table *claims;
    const char *const *stems;
};

/* Writes the lesson; its document is changed by that. */
void lesson_put(FILE *out, struct lesson *lesson, const struct filling *filling, struct figures *figures);

#endif
