/* lesson: converts a page of notebooks-md/ to HTML, with this run's charts and tables in place of its own.
 *
 * In a lesson,
 *     a paragraph of pictures, ![alt](img/NN_name_CHART.png), is replaced by the run's CHART of that lab. If the next
 *     paragraph is *emphasised* as a whole, it is the caption, which gives the origin of the numbers in the text;
 *     <!-- this run: TABLE --> on its own line is replaced by the run's table: `cases`, `claims`, or the name of another
 *     CSV file of the lab. */
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
    char *title;  /* text of the first heading */
    cmark_node *document;
};

/* Read a lesson. End the program if the file cannot be read or does not begin with a heading. */
struct lesson lesson_open(const char *folder, const char *stem);
void lesson_close(struct lesson *lesson);

/* Redirect links to the pages of all lessons, (count). Remove links to source files, which are not among the results. Call once
 * per lesson, before the functions below. */
void lesson_link(struct lesson *lesson, const struct lesson *all, int count);

/* Return the chart of the first picture: "timeline" for img/01_straggler_timeline.png; NULL if none. Free it. */
char *lesson_first_chart(const struct lesson *lesson);

/* Write the lesson with the findings of its lab (NULL: the lesson belongs to no lab) and the claims. Changes the lesson's
 * document. */
void lesson_put(FILE *out, struct lesson *lesson, const struct lab_findings *findings, const struct csv_table *claims,
                struct figures *figures);

#endif
