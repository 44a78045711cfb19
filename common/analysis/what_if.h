/* what_if: the steps of a timeline, had some ranks been as fast as the others.
 *
 * A rank's steps are replayed as it made them: it works, phase by phase; it hands collectives over; it waits for their ends. The
 * exposed part of a collective is no work. A collective ends for a member when the ranks for which it waits have started
 * (timeline.h), plus the lower median of its members' transfers. A started collective runs beside the work that follows, and only
 * entering it waits for its end. A rank may be in any number of groups; all ranks begin the first step together.
 *
 * A fixed rank's time in a phase of a step becomes the lower median over the ranks that are not fixed (over all ranks, if all are
 * fixed), but never longer.
 *
 * With all ranks fixed this is not timeline_what_if(), which takes the median of whole pieces between events. Here each phase has a median
 * of its own, so that one rank's short data and another's short forward come together: 30.9 ms, not 39.3, for
 * tests/tools/torch_spans.csv. And here a phase that events cut has one share for all its pieces.
 *
 * Replayed steps differ from the measured ones, since transfers are medians. So a gain is the difference of two replays: of the steps
 * as they were, and of the fixed ones. */
#ifndef LOCKSTEP_WHAT_IF_H
#define LOCKSTEP_WHAT_IF_H

#include "analysis/timeline.h"

struct what_if;

/* A fix to replay: the fixed ranks, and the phase. */
struct what_if_fix {
    const bool *ranks; /* (ranks); NULL: none */
    int phase;         /* enum span_kind; SPAN_PHASES: all phases */
};

/* Prepare the replays of a timeline; NULL if the ranks' calls do not match, or if arrivals or needed peers are unknown. */
struct what_if *what_if_open(const struct timeline *timeline);
void what_if_close(struct what_if *what_if);

/* Replay with a fix. lengths (steps): the seconds by which each step moves the end of the slowest rank. Return false, and all NaN, if
 * the ranks wait for each other in a circle, as after wrong stamps. */
bool what_if_replay(struct what_if *what_if, struct what_if_fix fix, double *lengths);

/* Return the sum of these seconds; NaN if the ranks wait for each other in a circle. */
double what_if_sum(struct what_if *what_if, struct what_if_fix fix);

#endif
