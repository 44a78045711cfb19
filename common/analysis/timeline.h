/* timeline: the spans of all ranks side by side, and what they say.
 *
 * For one collective and rank: s = start, e = entered, l = end, and L = the latest s of all ranks. Then
 *     wait     = max(0, min(l, L) - e)    somebody was not there yet
 *     transfer = max(0, l - max(e, L))    all were there; a lower bound of the collective's cost, since early ranks
 *                                         already exchange among themselves
 *     hidden   = e - s                    it travelled while the rank did something else
 *     exposed  = l - e = wait + transfer  the rank stood still
 * The two cannot be told apart where a started collective was entered before L without progress calls: then only
 * exposed is known.
 *
 * Blame: the last rank is charged (L - second-latest start) x (n - 1), the waiting that would vanish had it alone
 * been on time; the rest of the waiting is nobody's.
 *
 * Clocks that may disagree by some error tell nothing of what is shorter: a wait below it is 0, all of `exposed` then being
 * transfer; nobody is last who came less than that after the one before, and nobody is blamed. So 0 means 0, give or take
 * the error.
 *
 * What-if: the step had every rank's own time been the median rank's (after "Understanding Stragglers in Large Model
 * Training Using What-if Analysis", OSDI '25): the pieces between events are replaced by their median over ranks, the
 * transfers kept, and the step is played again. With an even number of ranks the lower median is taken. */
#ifndef LOCKSTEP_TIMELINE_H
#define LOCKSTEP_TIMELINE_H

#include "base/check_failures.h"
#include "collective/spans.h"

struct timeline {
    int ranks;
    int first_step, steps;    /* the measured ones; earlier steps are warm-up */
    int count;                /* places per rank; a rank with fewer spans fills up with step = -1 */
    const struct span *spans; /* (ranks, count), each rank's in order of recording */
    double clock_error;       /* seconds by which stamps of two ranks may disagree */
    bool hides_arrivals;      /* when a rank came to a collective cannot be known: only `exposed` is */
};

/* One rank in one step, in seconds: step = sum of phase + exposed, exposed = wait + transfer. */
struct cell {
    double step;
    double phase[SPAN_PHASES]; /* without what was exposed in them */
    double exposed;
    double wait, transfer; /* NaN where they cannot be told apart */
    double hidden;
    double caused; /* waiting of others charged to this rank */
    int last;      /* collectives of this step at which this rank arrived last */
};

/* Fills cells (steps, ranks). Returns the failed checks: ranks that made different calls, a rank that left a collective
 * before the last one came (beyond the clocks' error), spans that leave their phase, clocks that go back. */
struct check_failures timeline_split(const struct timeline *timeline, struct cell *cells);

/* Mean step, seconds; NaN when the ranks' calls differ. */
double timeline_what_if(const struct timeline *timeline);

/* One stretch of a rank's lane, for pictures: a phase without its collectives, or a part of a collective. */
enum segment_kind {
    SEGMENT_WAIT = SPAN_PHASES, /* kinds below are phases */
    SEGMENT_TRANSFER,
    SEGMENT_EXPOSED, /* wait and transfer that cannot be told apart */
    SEGMENT_TRAVEL,  /* hidden: on the second lane */
    SEGMENT_KINDS
};
extern const char *const segment_names[SEGMENT_KINDS];
struct segment {
    int rank, lane, kind; /* kind: enum span_kind below SPAN_PHASES, else enum segment_kind */
    double start, end;    /* seconds since the step began on its first rank */
    double late;          /* of a transfer: seconds by which the rank came after the one before it, were it the last */
};

/* The stretches of `step` on all ranks, at most `most`; returns how many. */
int timeline_segments(const struct timeline *timeline, int step, struct segment *segments, int most);

#endif
