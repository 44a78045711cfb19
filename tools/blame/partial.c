#include "partial.h"

#include "analysis/matched_collectives.h"
#include "base/memory.h"

#include <math.h>

/* Seconds of one rank, summed over the measured collectives at which it was the last. */
struct last_arrivals {
    double late, until_end;
    int count;
};

static struct last_arrivals arrivals_of(const struct timeline *t, int rank)
{
    struct last_arrivals sum = { 0 };
    struct matched_collectives matched = matched_collectives_find(t);
    for (int n = 0; matched.are_alike && n < matched.count; n++) {
        const struct matched *c = &matched.at[n];
        if (c->last != rank || c->at[0]->step < t->first_step || c->at[0]->step >= t->first_step + t->steps)
            continue;
        sum.late += c->late;
        sum.until_end += c->at[c->cause]->end - c->latest;
        sum.count++;
    }
    matched_collectives_close(&matched);
    return sum;
}

char *partial_withdraw(struct outcome *o)
{
    struct case_summary *s = &o->summary;
    if (s->blamed_rank < 0)
        return NULL;
    struct last_arrivals sum = arrivals_of(&o->picture, s->blamed_rank);
    if (sum.until_end < sum.late / 2)
        return NULL;
    char *why = memory_text(
        "Of the recorded ranks, rank %d comes last, %.3g ms after the others; but it leaves only %.3g ms "
        "later, so a rank without\na trace may be the cause, and no rank is named.",
        timeline_rank(&o->picture, s->blamed_rank), 1e3 * sum.late / sum.count, 1e3 * sum.until_end / sum.count);
    s->blamed_rank = -1;
    s->blamed_wait = (double)NAN;
    return why;
}
