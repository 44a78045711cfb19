/* picture: the round of a case that lanes and trace show, and the step of it that is drawn: as near as possible to the case's typical
 * step (case_stats_typical()) in its length, in every phase and in how its ranks begin, so that the picture agrees with the tables.
 * Only steps in which the ranks synchronise count.
 *
 * Rounds are offered one by one and a case keeps one of them, so memory does not grow with the rounds. */
#ifndef LOCKSTEP_PICTURE_H
#define LOCKSTEP_PICTURE_H

#include "report/run_report.h"

/* True if a step of `round` is nearer the typical step so far than all steps of the picture, or if there is no picture. Of steps that
 * are equally near, the first is drawn. Call after case_stats_add() of that round. */
bool picture_is_nearer(const struct outcome *outcome, const struct timeline *round);

/* Return the picture's step to draw. */
int picture_step(const struct outcome *outcome);

#endif
