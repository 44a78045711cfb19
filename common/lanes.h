/* lanes: one step as a picture. A line per rank, phases as stretches of colour, all cases on one time scale: who
 * waited for whom. */
#ifndef LOCKSTEP_LANES_H
#define LOCKSTEP_LANES_H

#include "job.h"
#include "report.h"

/* Draws the named cases (NULL ends the list; unknown names are passed over) below one another. */
void lanes_draw(FILE *out, const struct report *report, const char *const *names, struct terminal terminal);

/* lanes.csv: the stretches of each case's typical step, for the charts. */
void lanes_write(const struct report *report);

#endif
