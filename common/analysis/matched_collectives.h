/* matched_collectives: the collectives of all ranks side by side, and each rank's arrival. timeline.h defines the quantities. */
#ifndef LOCKSTEP_MATCHED_COLLECTIVES_H
#define LOCKSTEP_MATCHED_COLLECTIVES_H

#include "analysis/timeline.h"
#include "collective/spans.h"

/* The n-th collective of one rank matches the n-th of every other. Phases may differ between ranks. */
struct matched_collectives {
    int count;
    const struct span **at; /* (count, ranks) */
    bool are_alike;         /* every rank made the same calls; otherwise `at` is not usable */
};

struct matched_collectives matched_collectives_find(const struct timeline *timeline);
void matched_collectives_close(struct matched_collectives *matched);

/* Arrivals at a collective, from its spans (ranks). */
struct arrival {
    double latest, second; /* starts of the last rank and of the one before it */
    int last;              /* -1 for a tie: the last two differ by less than the clocks' error or resolution */
};
struct arrival arrival_at(const struct timeline *timeline, const struct span *const *collective);

/* Seconds of a rank in a collective at which the last rank arrived at `latest`. */
struct parts {
    double wait, transfer, hidden, exposed;
    bool is_known; /* wait and transfer can be separated */
};
struct parts parts_of(const struct timeline *timeline, const struct span *span, double latest);

#endif
