/* figure: puts charts of a run into a page, each with a caption and a text alternative for screen readers. */
#ifndef LOCKSTEP_FIGURE_H
#define LOCKSTEP_FIGURE_H

#include "findings.h"

#include <stdbool.h>
#include <stdio.h>

/* Charts and tables that a page already contains. */
struct figures {
    const char *results;
    long bytes; /* size of the pictures in the page */
    int count;
    char **shown; /* (count) paths of charts and tables in the page */
};

void figures_close(struct figures *figures);

/* Put a chart of a finding into the page; `has_caption` adds a caption that gives place and settings. If the page is full, put a link
 * to the chart instead. Return false, and write nothing, if this run has no such chart. */
bool figure_put(FILE *out, struct figures *figures, const struct finding *finding, const char *chart, bool has_caption);

/* Put a chart that belongs to no lab, given by its path below the results. `alt` is its text alternative; `caption` is HTML. */
bool figure_put_path(FILE *out, struct figures *figures, const char *path, const char *alt, const char *caption);

/* Record that something else of a finding, such as a table, was shown; ask if something was shown. */
void figure_note(struct figures *figures, const struct finding *finding, const char *what);
bool figure_is_shown(const struct figures *figures, const struct finding *finding, const char *chart);

#endif
