/* lanes: draws one step as text. A line per rank, phases as coloured segments, all cases on one time scale. The drawing, and a
 * sentence below it, show which ranks waited for which. With many ranks, those that look alike share a line. */
#ifndef LOCKSTEP_LANES_H
#define LOCKSTEP_LANES_H

#include "base/csv.h"
#include "launch/job.h"
#include "report/run_report.h"
#include "report/timeline_view.h"

/* Draw the named cases below one another. NULL ends the list; unknown names are skipped. */
void lanes_draw(FILE *out, const struct report *report, const char *const *names, struct terminal terminal);

/* Draw views below one another, each under its title. */
void lanes_draw_views(FILE *out, const struct timeline_view *views, char *const *titles, int count,
                      struct terminal terminal);

/* Write lanes.csv for the charts: the segments of each case's typical step, below the blame sentences. Ranks `rank` to `to_rank`
 * look like the first of them (timeline_view.h). */
void lanes_write(const struct report *report);

/* Return the blame sentence that a lanes.csv has of a case, NULL if none; the caller frees it. Older files call it `told of CASE`. */
char *lanes_explanation(const struct csv_table *lanes, const char *name);

#endif
