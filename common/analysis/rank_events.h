/* rank_events: what a rank does about its collectives, in order: it hands one over, or begins to wait for it. Between two events it
 * works, so a rank's steps are its events and the pieces of work between them. */
#ifndef LOCKSTEP_RANK_EVENTS_H
#define LOCKSTEP_RANK_EVENTS_H

#include "analysis/matched_collectives.h"
#include "analysis/timeline.h"

#include <stdbool.h>

struct rank_event {
    double time;
    int call; /* number among the rank's calls */
    bool is_entry;
    struct matched_call of;
};

/* The measured steps of a rank: from the start of their first phase to the end of the last. */
struct rank_window {
    double begin, end;
};
struct rank_window rank_window_of(const struct timeline *timeline, int rank);

static inline bool rank_window_has(struct rank_window window, const struct span *call)
{
    return call->start >= window.begin && call->end <= window.end;
}

/* List the events of the calls that lie in a rank's window, in order; at most two per span. Return their number.
 *
 * On a simulated machine, a rank hands over its last bucket and notices that earlier sums are over at the same instant, and stamps of
 * spans.csv are rounded. Events of one instant (MATCHED_TIE) have the order that they have on other ranks, which came earlier or later; if
 * no rank shows one, what is handed over comes before what is waited for. */
int rank_events_list(const struct matched_collectives *matched, const struct timeline *timeline, int rank,
                     struct rank_window window, struct rank_event *events);

#endif
