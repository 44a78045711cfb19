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

static int compare_events(const void *a, const void *b)
{
    const struct rank_event *x = a, *y = b;
    if (x->time < y->time || x->time > y->time)
        return x->time < y->time ? -1 : 1;
    if (x->call != y->call)
        return x->call < y->call ? -1 : 1;
    return (int)x->is_entry - (int)y->is_entry;
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
    qsort(events, (size_t)count, sizeof *events, compare_events);
    return count;
}
