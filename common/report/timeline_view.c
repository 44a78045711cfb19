#include "report/timeline_view.h"

#include "analysis/blame_sentence.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

int timeline_view_kind(const struct timeline_view *p, int rank, int lane, double begin, double end)
{
    double covered[SEGMENT_KINDS] = { 0 };
    int best = -1;
    for (int i = 0; i < p->count; i++) {
        const struct segment *s = &p->segments[i];
        double overlap = fmin(s->end, end) - fmax(s->start, begin);
        if (s->rank != rank || s->lane != lane || overlap <= 0)
            continue;
        covered[s->kind] += overlap;
        if (best < 0 || covered[s->kind] > covered[best])
            best = s->kind;
    }
    return best;
}

enum { LOOKS = 200 }; /* moments at which two ranks are compared */

/* What each rank does at each moment: (ranks, LOOKS), -1 for nothing. */
static signed char *look(const struct timeline_view *p, int ranks)
{
    signed char *kinds = memory_new((size_t)ranks * LOOKS, sizeof *kinds);
    for (int i = 0; i < ranks * LOOKS; i++)
        kinds[i] = -1;
    for (int i = 0; i < p->count && p->end > 0; i++) {
        const struct segment *s = &p->segments[i];
        for (int at = (int)ceil(s->start / p->end * LOOKS); s->lane == 0 && at < LOOKS && at < s->end / p->end * LOOKS;
             at++)
            kinds[s->rank * LOOKS + at] = (signed char)s->kind;
    }
    return kinds;
}

static bool are_alike(const signed char *a, const signed char *b, double share)
{
    int differ = 0;
    for (int at = 0; at < LOOKS; at++)
        differ += a[at] != b[at];
    return differ <= share * LOOKS;
}

static void fold_within(struct timeline_view *p, const signed char *kinds, int ranks)
{
    p->folds = 0;
    for (int rank = 0; rank < ranks; rank++) {
        struct collapsed_ranks *before = p->folds > 0 ? &p->folded[p->folds - 1] : NULL;
        bool is_joined = before && p->fold > 0 && rank != p->last && before->first != p->last &&
                         are_alike(kinds + (ptrdiff_t)before->first * LOOKS, kinds + (ptrdiff_t)rank * LOOKS, p->fold);
        if (is_joined)
            before->last = rank;
        else
            p->folded[p->folds++] = (struct collapsed_ranks){ rank, rank };
    }
}

/* Ranks fold as little as need be: all look alike but for all of it. */
static void fold(struct timeline_view *p, int ranks)
{
    p->folded = memory_new((size_t)ranks, sizeof *p->folded);
    signed char *kinds = look(p, ranks);
    fold_within(p, kinds, ranks);
    for (double share = 0.02; p->folds > TIMELINE_VIEW_LANES_MOST; share = fmin(1, 2 * share)) {
        p->fold = share;
        fold_within(p, kinds, ranks);
    }
    free(kinds);
}

/* Leaves the stretches of the ranks that are drawn. */
static void keep_drawn(struct timeline_view *p)
{
    int kept = 0, at = 0; /* both are in the order of ranks */
    for (int i = 0; i < p->count; i++) {
        while (at < p->folds - 1 && p->segments[i].rank > p->folded[at].last)
            at++;
        if (p->segments[i].rank == p->folded[at].first)
            p->segments[kept++] = p->segments[i];
    }
    p->count = kept;
}

struct timeline_view timeline_view_take(const struct outcome *o)
{
    struct timeline_view p = { .step = report_typical_step(o) };
    int most = 4 * o->picture.count * o->picture.ranks;
    p.segments = memory_new((size_t)most, sizeof *p.segments);
    p.count = timeline_segments(&o->picture, p.step, p.segments, most);
    for (int i = 0; i < p.count; i++)
        p.end = fmax(p.end, p.segments[i].end);
    p.told = blame_sentence(&o->picture, p.step, &p.last);
    fold(&p, o->picture.ranks);
    keep_drawn(&p);
    return p;
}

void timeline_view_drop(struct timeline_view *p)
{
    free(p->segments);
    free(p->told);
    free(p->folded);
}
