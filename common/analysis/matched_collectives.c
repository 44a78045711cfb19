#include "analysis/matched_collectives.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

struct matched_collectives matched_collectives_find(const struct timeline *t)
{
    struct matched_collectives m = { .at = memory_new((size_t)t->count * (size_t)t->ranks, sizeof *m.at),
                                     .are_alike = true };
    for (int rank = 0; rank < t->ranks; rank++) {
        int n = 0;
        for (int i = 0; i < t->count; i++) {
            const struct span *span = &t->spans[(size_t)rank * (size_t)t->count + (size_t)i];
            if (span_is_phase(span))
                continue;
            const struct span *first = rank > 0 ? m.at[n * t->ranks] : span;
            m.are_alike &= first && first->kind == span->kind && first->step == span->step &&
                           first->sequence == span->sequence && first->bytes == span->bytes;
            m.at[n++ * t->ranks + rank] = span;
        }
        if (rank == 0)
            m.count = n;
        m.are_alike &= n == m.count;
    }
    return m;
}

void matched_collectives_close(struct matched_collectives *matched)
{
    free(matched->at);
    *matched = (struct matched_collectives){ 0 };
}

/* Seconds: the resolution of the clocks plus half of spans.csv's, so that a tie is also one in spans.csv. */
static const double TIE = 1.5e-9;

struct arrival arrival_at(const struct timeline *t, const struct span *const *collective)
{
    struct arrival a = { .latest = -INFINITY, .second = -INFINITY };
    for (int rank = 0; rank < t->ranks; rank++) {
        double start = collective[rank]->start;
        if (start > a.latest) {
            a.second = a.latest;
            a.latest = start;
            a.last = rank;
        } else if (start > a.second) {
            a.second = start;
        }
    }
    if (a.latest - a.second < fmax(TIE, t->clock_error))
        a.last = -1;
    return a;
}

struct parts parts_of(const struct timeline *t, const struct span *span, double latest)
{
    double s = span->start, e = span->entered, l = span->end;
    bool was_started = s < e;
    struct parts parts = {
        .wait = fmax(0, fmin(l, latest) - e),
        .transfer = fmax(0, l - fmax(e, latest)),
        .hidden = e - s,
        .exposed = l - e,
        .is_known = !t->hides_arrivals && !(was_started && e < latest - t->clock_error && !span->progressed),
    };
    if (parts.wait < t->clock_error) {
        parts.wait = 0;
        parts.transfer = parts.exposed;
    }
    return parts;
}
