/* meetings: the collectives of all ranks side by side, and when each rank came to them. timeline.h says what is made of
 * that. */
#ifndef LOCKSTEP_MEETINGS_H
#define LOCKSTEP_MEETINGS_H

#include "analysis/timeline.h"
#include "collective/spans.h"

/* The n-th collective of one rank is the n-th of every other. Phases may differ between ranks. */
struct matched_collectives {
    int count;
    const struct span **at; /* (count, ranks) */
    bool are_alike;         /* every rank made the same calls; else there are no meetings to speak of */
};

struct matched_collectives matched_collectives_find(const struct timeline *timeline);
void matched_collectives_close(struct matched_collectives *meetings);

/* When the ranks came to a collective, given its spans (ranks). */
struct arrival {
    double latest, second; /* starts of the last rank and of the one before it */
    int last; /* -1 where two came as late as each other, by clocks that are no better, or that are as exact as simulated */
};
struct arrival arrival_at(const struct timeline *timeline, const struct span *const *meeting);

/* A rank's time in a collective at which the last rank came at `latest`, in seconds. */
struct parts {
    double wait, transfer, hidden, exposed;
    bool is_known; /* wait and transfer can be told apart */
};
struct parts parts_of(const struct timeline *timeline, const struct span *span, double latest);

#endif
