/* blame_sentence: one sentence about which ranks waited in a step, for which rank, and why. */
#ifndef LOCKSTEP_BLAME_SENTENCE_H
#define LOCKSTEP_BLAME_SENTENCE_H

#include "analysis/timeline.h"

/* Describe the collective of `step` in which the ranks waited longest in sum. The caller frees the text.
 *
 *     "ranks 1 to 3 wait 39.8 ms for rank 0: its data took 40.3 ms, theirs 0.50 ms"    (two ranks: "rank 1's 0.50 ms")
 *     "…, which began the step 10.0 ms later"
 *
 * The reason is the work since the previous collective, or the beginning of the step, in which the blamed rank exceeds the median
 * of the others of its group most. It is left out if the excess is less than half of the longest wait, and for messages. If the
 * longest wait is below a twentieth of the step, the text only gives its length. If no rank waits, the text states that, and the
 * clock error above 1 us.
 *
 * Return NULL for a single rank, for a step without matched collectives, or if waiting cannot be separated from transfer. *last
 * is the rank that is blamed; -1 if several arrived together, for messages, or for NULL. */
char *blame_sentence(const struct timeline *timeline, int step, int *last);

#endif
