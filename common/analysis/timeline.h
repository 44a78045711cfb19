/* timeline: the spans of all ranks side by side, and the times computed from them.
 *
 * For one collective and rank: s = start, e = entered, l = end, and L = the latest s of the ranks for which it waits. A rank waits
 * for all ranks of the group; in a broadcast, for its root only; in a send-receive, for the ranks `from` and `to`. Then
 *     wait     = max(0, min(l, L) - e)    some rank had not arrived yet
 *     transfer = max(0, l - max(e, L))    all ranks had arrived; a lower bound of the collective's cost, since early ranks
 *                                         already exchange data
 *     hidden   = e - s                    data travelled while the rank did something else
 *     exposed  = l - e = wait + transfer  the rank stood still
 * Wait and transfer cannot be separated if a started collective was entered before L without progress calls. Then only
 * exposed is known.
 *
 * Blame: a rank is charged with the waiting that would vanish if it alone had been on time. In a group of n ranks this is
 * (L - second-latest start) x (n - 1), charged to the last rank; of collectives that progressed while a rank worked, only the part of
 * its wait after the second-latest start counts. In a broadcast no other rank can be the cause: the root is charged
 * with L - s of every rank that came before it. Send-receives charge no rank, since a stage of a pipeline
 * waits for messages by design; and neither does the rest of the waiting charge any.
 *
 * Clock error: shorter times cannot be measured. A wait below the error is 0, and all of `exposed` is then transfer. If the last
 * rank arrived within the error after the one before, no rank is last and none is blamed. So 0 means 0 within the error. A
 * broadcast's root is not charged for ranks that came before it by less.
 *
 * What-if: the step if every rank's own time had been the median rank's (after "Understanding Stragglers in Large Model
 * Training Using What-if Analysis", OSDI '25). Each piece between events, and each transfer, is replaced by its median over
 * ranks, and the step is replayed. An even number of ranks uses the lower median: one of the ranks' own values, but below their
 * mean even if all ranks are alike, by 0.56 (2 ranks) or 0.30 (4) standard deviations of normal noise. So the baseline's own gain
 * is printed beside that of a case. The ranks may call collectives of different
 * groups, but the n-th calls of all ranks must have the same kind, size and step. */
#ifndef LOCKSTEP_TIMELINE_H
#define LOCKSTEP_TIMELINE_H

#include "base/check_failures.h"
#include "collective/span.h"

struct timeline {
    int ranks;
    int first_step, steps;    /* the measured ones; earlier steps are warm-up */
    int count;                /* places per rank; unused ones have step = -1 */
    const struct span *spans; /* (ranks, count), each rank's in order of recording */
    double clock_error;       /* seconds by which stamps of two ranks may disagree */
    bool hides_arrivals;      /* arrival times are unknown: only `exposed` is known */
    const int *numbers;       /* (ranks) what the job calls its ranks, if some are not here; NULL: 0, 1, 2 … */
    bool hides_peers;         /* `to` and `from` are unknown: of broadcasts and send-receives only `exposed` is known */
};

/* Return a rank's number in the job, which readers see. -1 stays -1. */
static inline int timeline_rank(const struct timeline *timeline, int rank)
{
    return timeline->numbers && rank >= 0 ? timeline->numbers[rank] : rank;
}

/* One rank in one step, in seconds: step = sum of phase + exposed, exposed = wait + transfer. */
struct cell {
    double step;
    double phase[SPAN_PHASES]; /* without the exposed time in them */
    double exposed;
    double wait, transfer; /* NaN where they cannot be separated */
    double hidden;
    double caused; /* waiting of others charged to this rank */
    int last;      /* collectives of this step at which this rank arrived last */
    double begin;  /* when the rank began the step; no part of sums */
    int calls;     /* collectives that it called in the step; no part of sums */
};

/* Fill cells (steps, ranks). Return the failed checks: ranks of a group that made different calls, a rank that left a collective
 * before the last one arrived (beyond the clock error; a broadcast or message may end early), collectives outside any phase,
 * clocks that go back. */
struct check_failures timeline_split(const struct timeline *timeline, struct cell *cells);

/* Return the mean what-if step in seconds; NaN if the ranks' calls differ, if a rank starts a collective while it waits for another, or
 * if arrivals or needed peers are unknown. what_if.h replays the first two as well. */
double timeline_what_if(const struct timeline *timeline);

/* Segment of a rank's lane in timeline views: a phase without its collectives, or a part of a collective. */
enum segment_kind {
    SEGMENT_WAIT = SPAN_PHASES, /* kinds below are phases */
    SEGMENT_TRANSFER,
    SEGMENT_EXPOSED, /* wait and transfer that cannot be separated */
    SEGMENT_TRAVEL,  /* second lane: a started collective, from its start or the end of the one before to its own end */
    SEGMENT_KINDS
};
extern const char *const segment_names[SEGMENT_KINDS];
struct segment {
    int rank, lane, kind; /* kind: enum span_kind below SPAN_PHASES, else enum segment_kind */
    double start, end;    /* seconds since the step began on its first rank */
    double late;          /* in the last rank's transfer: seconds that it arrived after the one before */
};

/* Return the number of segments of `step` on all ranks, and in *segments an array of them. Free it. */
int timeline_segments(const struct timeline *timeline, int step, struct segment **segments);

#endif
