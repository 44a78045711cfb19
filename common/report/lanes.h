/* lanes: one step as a picture. A line per rank, phases as stretches of colour, all cases on one time scale: who
 * waited for whom, which is told in words too. Where there are too many ranks, those that look alike share a line. */
#ifndef LOCKSTEP_LANES_H
#define LOCKSTEP_LANES_H

#include "launch/job.h"
#include "report/run_report.h"

/* Draws the named cases (NULL ends the list; unknown names are passed over) below one another. */
void lanes_draw(FILE *out, const struct report *report, const char *const *names, struct terminal terminal);

/* lanes.csv: the stretches of each case's typical step, for the charts, headed by what is told of it. Ranks `rank` to
 * `to_rank` look like the first of them (timeline_view.h). */
void lanes_write(const struct report *report);

#endif
