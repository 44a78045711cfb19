/* picture: the step of a case that stands for all, as lanes: which ranks look alike and share one, and what it shows. */
#ifndef LOCKSTEP_PICTURE_H
#define LOCKSTEP_PICTURE_H

#include "report/run_report.h"

/* The most lanes of a case: up to so many ranks have one each. */
enum { TIMELINE_VIEW_LANES_MOST = 16 };

struct timeline_view {
    struct segment *segments; /* (count) of the ranks that are drawn */
    int count, step;
    double end;  /* seconds */
    char *told;  /* who waited for whom (blame_sentence); NULL for nothing */
    int last;    /* the rank that is told of; -1 for none */
    double fold; /* ranks that share a lane look alike but for this share of it; 0 where none do */
    int folds;   /* lanes */
    struct collapsed_ranks {
        int first, last; /* ranks next to each other; the first is drawn */
    } * folded;          /* (folds), by rank */
};

/* Where there are too many ranks, neighbours that look alike share a lane; the rank that came last keeps its own. */
struct timeline_view timeline_view_take(const struct outcome *outcome);
void timeline_view_drop(struct timeline_view *picture);

/* What covers most of the time from `begin` to `end` on a lane of a rank; -1 when it is empty there. */
int timeline_view_kind(const struct timeline_view *picture, int rank, int lane, double begin, double end);

#endif
