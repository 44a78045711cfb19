/* waiting: who waited for whom in a step, and why, in one sentence. */
#ifndef LOCKSTEP_WAITING_H
#define LOCKSTEP_WAITING_H

#include "analysis/timeline.h"

/* Of the collective of `step` in which the ranks waited longest: "ranks 1 to 3 wait 39.8 ms for rank 0: its data took
 * 40.3 ms, theirs 0.50 ms" (of two ranks, "rank 1's 0.50 ms"), or "…, which began the step 10.0 ms later". The reason is what the last rank took longer for
 * than the median of the others since they last met; it is left out where that is less than half of the longest wait. Of
 * waits below a twentieth of the step it says "nobody waits longer than 1.60 ms", of none at all "nobody waits", or what of that clocks
 * cannot tell. NULL where
 * there is nobody to wait for, or waiting cannot be told from transfer. Free it. *last is the rank that came last there; -1
 * where several came together, or nothing is told. */
char *blame_sentence(const struct timeline *timeline, int step, int *last);

#endif
