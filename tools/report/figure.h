/* figure: charts of a run within a page, each with a caption and with words for those who do not see it. */
#ifndef LOCKSTEP_FIGURE_H
#define LOCKSTEP_FIGURE_H

#include "findings.h"

#include <stdbool.h>
#include <stdio.h>

/* What a page holds so far. */
struct figures {
    const char *results;
    long bytes; /* of its pictures */
    int count;
    char **shown; /* (count) paths of the charts and tables that are there */
};

void figures_close(struct figures *figures);

/* The chart of a finding; `is_told`: with a caption that says where and how it ran. Where the page is nearly as large as a
 * page may be, a link to the chart stands for it. False, and nothing written, where no such chart was drawn of this run. */
bool figure_put(FILE *out, struct figures *figures, const struct finding *finding, const char *chart, bool is_told);

/* A chart that belongs to no lab, by its path below the results, described by `alt`; `caption` is HTML. */
bool figure_put_path(FILE *out, struct figures *figures, const char *path, const char *alt, const char *caption);

/* What else of a finding was shown, a table say, and whether something was. */
void figure_note(struct figures *figures, const struct finding *finding, const char *what);
bool figure_is_shown(const struct figures *figures, const struct finding *finding, const char *chart);

#endif
