/* waiting: who waited for whom in a step, and why, in one sentence. */
#ifndef LOCKSTEP_WAITING_H
#define LOCKSTEP_WAITING_H

#include "timeline.h"

/* Of the collective of `step` in which the ranks waited longest: "ranks 1 to 3 wait 39.8 ms for rank 0: its data took
 * 40.3 ms, theirs 0.5 ms". The reason, what the last rank did longer than the median of the others since they last met, is
 * left out where it is less than half of the longest wait. Waits below a twentieth of the step are "nobody waits longer
 * than 1.6 ms". NULL where there is nobody to wait for, or waiting cannot be told from transfer. Free it. */
char *waiting_told(const struct timeline *timeline, int step);

#endif
