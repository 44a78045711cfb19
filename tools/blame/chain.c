#include "chain.h"

#include "analysis/what_if.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

/* True if `is` accepts one of the calls, compared with the first of them. */
static bool has_call(const struct timeline *t, bool (*is)(const struct span *span, const struct span *first))
{
    const struct span *first = NULL;
    for (int i = 0; i < t->ranks * t->count; i++) {
        const struct span *span = &t->spans[i];
        if (span->step < 0 || span_is_phase(span))
            continue;
        first = first ? first : span;
        if (is(span, first))
            return true;
    }
    return false;
}

static bool is_message(const struct span *span, const struct span *first)
{
    (void)first;
    return span->kind == SPAN_SEND_RECEIVE;
}

static bool is_of_another_group(const struct span *span, const struct span *first)
{
    return span->group != first->group;
}

bool chain_has_messages(const struct timeline *t)
{
    return !t->hides_peers && has_call(t, is_message);
}

/* Return the seconds that the replayed steps would be shorter if this rank were as fast as the others; NaN if they cannot be replayed. */
static double gain_of(const struct timeline *t, int rank)
{
    struct what_if *w = what_if_open(t);
    if (!w)
        return (double)NAN;
    bool *ranks = memory_new((size_t)t->ranks, sizeof *ranks);
    ranks[rank] = true;
    const double gain = what_if_sum(w, (struct what_if_fix){ NULL, SPAN_PHASES }) -
                        what_if_sum(w, (struct what_if_fix){ ranks, SPAN_PHASES });
    free(ranks);
    what_if_close(w);
    return gain;
}

char *chain_withdraw(const struct spans_case *of, struct outcome *o)
{
    struct case_summary *s = &o->summary;
    const struct timeline *first = &of->blocks[0].timeline;
    double gain = 0;
    if (s->blamed_rank < 0 || !(chain_has_messages(first) || has_call(first, is_of_another_group)))
        return NULL;
    for (int i = 0; i < of->count; i++)
        gain += gain_of(&of->blocks[i].timeline, s->blamed_rank) / o->stats.steps;
    if (!(gain * (o->stats.ranks - 1) < s->blamed_wait / 4)) /* a shorter step is less waiting on every other rank */
        return NULL;
    char *why = memory_text(
        "Rank %d comes last, but because it waits itself: as fast as the others, it would shorten a step by "
        "%.3g ms only.",
        timeline_rank(&o->picture, s->blamed_rank), 1e3 * fmax(0, gain));
    s->blamed_rank = -1;
    s->blamed_wait = (double)NAN;
    return why;
}
