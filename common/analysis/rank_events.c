#include "analysis/rank_events.h"

#include <math.h>
#include <stdlib.h>

struct rank_window rank_window_of(const struct timeline *t, int rank)
{
    struct rank_window window = { INFINITY, -INFINITY };
    for (int i = 0; i < t->count; i++) {
        const struct span *span = &t->spans[(size_t)rank * (size_t)t->count + (size_t)i];
        bool is_measured = span->step >= t->first_step && span->step < t->first_step + t->steps;
        if (span_is_phase(span) && is_measured) {
            window.begin = fmin(window.begin, span->start);
            window.end = fmax(window.end, span->end);
        }
    }
    return window;
}

static int compare_times(const void *a, const void *b)
{
    const struct rank_event *x = a, *y = b;
    if (x->time < y->time || x->time > y->time)
        return x->time < y->time ? -1 : 1;
    return x->is_entry != y->is_entry ? (int)x->is_entry - (int)y->is_entry : x->call - y->call;
}

/* --- events at the same instant --------------------------------------------------------------------------------- */

static double time_of(const struct rank_event *event, const struct matched *collective, int member)
{
    return event->is_entry ? collective->at[member]->entered : collective->at[member]->start;
}

/* Return the number of ranks on which x came before y, less that of ranks on which it came after y. */
static int ranks_for(const struct rank_event *x, const struct rank_event *y)
{
    const struct matched *c = x->of.collective, *d = y->of.collective;
    int ranks = 0;
    for (int i = 0; i < c->members; i++) {
        const int k = c == d ? i : matched_member(d, c->rank[i]);
        const double gap = k < 0 ? 0 : time_of(y, d, k) - time_of(x, c, i);
        ranks += gap > MATCHED_TIE ? 1 : gap < -MATCHED_TIE ? -1 : 0;
    }
    return ranks;
}

/* True if x comes before y, although both have the same time. */
static bool comes_first(const struct rank_event *x, const struct rank_event *y)
{
    if (x->call == y->call)
        return y->is_entry;
    const int ranks = ranks_for(x, y);
    if (ranks != 0)
        return ranks > 0;
    return x->is_entry != y->is_entry ? y->is_entry : x->call < y->call;
}

/* Order the events of each instant. */
static void settle_ties(struct rank_event *events, int count)
{
    for (int first = 0, i = 1; i < count; i++) {
        if (events[i].time > events[first].time + MATCHED_TIE) {
            first = i;
            continue;
        }
        const struct rank_event event = events[i];
        int at = i;
        for (; at > first && comes_first(&event, &events[at - 1]); at--)
            events[at] = events[at - 1];
        events[at] = event;
    }
}

int rank_events_list(const struct matched_collectives *matched, const struct timeline *t, int rank,
                     struct rank_window window, struct rank_event *events)
{
    int count = 0, calls = 0;
    for (int i = 0; i < t->count; i++) {
        const struct span *span = &t->spans[(size_t)rank * (size_t)t->count + (size_t)i];
        struct matched_call of = matched->calls[span - t->spans];
        if (!of.collective)
            continue;
        int call = calls++;
        if (!rank_window_has(window, span))
            continue;
        events[count++] = (struct rank_event){ .time = span->start, .call = call, .of = of };
        events[count++] = (struct rank_event){ .time = span->entered, .call = call, .is_entry = true, .of = of };
    }
    qsort(events, (size_t)count, sizeof *events, compare_times);
    settle_ties(events, count);
    return count;
}
