/* picture: the step of a case that stands for all, as lanes: which ranks look alike and share one, and what it shows. */
#ifndef LOCKSTEP_PICTURE_H
#define LOCKSTEP_PICTURE_H

#include "report.h"

/* The most lanes of a case: up to so many ranks have one each. */
enum { PICTURE_LANES_MOST = 16 };

struct picture {
    struct stretch *stretches; /* (count) of the ranks that are drawn */
    int count, step;
    double end;  /* seconds */
    char *told;  /* who waited for whom (waiting_told); NULL for nothing */
    int last;    /* the rank that is told of; -1 for none */
    double fold; /* ranks that share a lane look alike but for this share of it; 0 where none do */
    int folds;   /* lanes */
    struct fold {
        int first, last; /* ranks next to each other; the first is drawn */
    } * folded;          /* (folds), by rank */
};

/* Where there are too many ranks, neighbours that look alike share a lane; the rank that came last keeps its own. */
struct picture picture_take(const struct outcome *outcome);
void picture_drop(struct picture *picture);

/* What covers most of the time from `begin` to `end` on a lane of a rank; -1 when it is empty there. */
int picture_kind(const struct picture *picture, int rank, int lane, double begin, double end);

#endif
