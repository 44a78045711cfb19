/* plan: what the runs behind a text are, by its lines
 *
 *     <!-- run: PLACE [CHART…] [OPTION=VALUE…] -->
 *
 * PLACE: `here` (real ranks, as many as there are cores), `dedicated-cores` (simulated copies of a core), or any name, which is that
 * of a simulated machine unless platform=NAME stands among the options. Underscores in an option are dashes: sleep_ms=40 is
 * --sleep-ms 40. CHART: the pictures img/LAB_CHART.png of the text that are of this run; those that no line names are of the first. */
#ifndef LOCKSTEP_LESSONS_PLAN_H
#define LOCKSTEP_LESSONS_PLAN_H

#include "marker.h"

/* Print rows of --plan. */
void plan_print(struct check *check);

/* Read the summary.csv of each run of the text, whose settings then count as explained. Complain of a missing one. */
void plan_open_runs(struct check *check);

#endif
