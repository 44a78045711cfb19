/* timeline_view: the typical step of a case as lanes. It finds which ranks look alike and share a lane. */
#ifndef LOCKSTEP_TIMELINE_VIEW_H
#define LOCKSTEP_TIMELINE_VIEW_H

#include "report/run_report.h"

/* Most lanes of a case. Up to this many ranks have a lane each. */
enum { TIMELINE_VIEW_LANES_MOST = 16 };

struct timeline_view {
    struct segment *segments; /* (count) of the drawn ranks */
    int count, step;
    const int *numbers;  /* (ranks) what the job calls its ranks; NULL: 0, 1, 2 … */
    double end;          /* seconds */
    char *text;          /* blame_sentence(): which ranks waited for which; NULL for none */
    int last;            /* rank that arrived last; -1 for none or unknown */
    double fold;         /* ranks that share a lane differ in at most this share of the step; 0 if no ranks share one */
    int collapsed_count; /* lanes */
    struct collapsed_ranks {
        int first, last; /* consecutive ranks; the first is drawn */
    } * collapsed;       /* (collapsed_count), by rank */
};

/* Return a rank's number in the job. */
static inline int timeline_view_rank(const struct timeline_view *view, int rank)
{
    return view->numbers ? view->numbers[rank] : rank;
}

/* True if a rank has a segment in this lane: 0 for its own, 1 for started collectives. */
bool timeline_view_has_lane(const struct timeline_view *view, int rank, int lane);

/* Make the view of a case. If there are too many ranks, neighbours that look alike share a lane; the last rank keeps its own. */
struct timeline_view timeline_view_take(const struct outcome *outcome);
void timeline_view_drop(struct timeline_view *view);

/* Return the kind of segment that covers most of `begin` to `end` on a lane of a rank; -1 if the lane is empty there. */
int timeline_view_kind(const struct timeline_view *view, int rank, int lane, double begin, double end);

#endif
