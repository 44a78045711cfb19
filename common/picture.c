#include "picture.h"

#include "memory.h"
#include "waiting.h"

#include <math.h>
#include <stdlib.h>

int picture_kind(const struct picture *p, int rank, int lane, double begin, double end)
{
    double covered[STRETCH_KINDS] = { 0 };
    int best = -1;
    for (int i = 0; i < p->count; i++) {
        const struct stretch *s = &p->stretches[i];
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
static signed char *look(const struct picture *p, int ranks)
{
    signed char *kinds = memory_new((size_t)ranks * LOOKS, sizeof *kinds);
    for (int i = 0; i < ranks * LOOKS; i++)
        kinds[i] = -1;
    for (int i = 0; i < p->count && p->end > 0; i++) {
        const struct stretch *s = &p->stretches[i];
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

static void fold_within(struct picture *p, const signed char *kinds, int ranks)
{
    p->folds = 0;
    for (int rank = 0; rank < ranks; rank++) {
        struct fold *before = p->folds > 0 ? &p->folded[p->folds - 1] : NULL;
        bool is_joined = before && p->fold > 0 && rank != p->last && before->first != p->last &&
                         are_alike(kinds + (ptrdiff_t)before->first * LOOKS, kinds + (ptrdiff_t)rank * LOOKS, p->fold);
        if (is_joined)
            before->last = rank;
        else
            p->folded[p->folds++] = (struct fold){ rank, rank };
    }
}

/* Ranks fold as little as need be: all look alike but for all of it. */
static void fold(struct picture *p, int ranks)
{
    p->folded = memory_new((size_t)ranks, sizeof *p->folded);
    signed char *kinds = look(p, ranks);
    fold_within(p, kinds, ranks);
    for (double share = 0.02; p->folds > PICTURE_LANES_MOST; share = fmin(1, 2 * share)) {
        p->fold = share;
        fold_within(p, kinds, ranks);
    }
    free(kinds);
}

/* Leaves the stretches of the ranks that are drawn. */
static void keep_drawn(struct picture *p)
{
    int kept = 0, at = 0; /* both are in the order of ranks */
    for (int i = 0; i < p->count; i++) {
        while (at < p->folds - 1 && p->stretches[i].rank > p->folded[at].last)
            at++;
        if (p->stretches[i].rank == p->folded[at].first)
            p->stretches[kept++] = p->stretches[i];
    }
    p->count = kept;
}

struct picture picture_take(const struct outcome *o)
{
    struct picture p = { .step = report_typical_step(o) };
    int most = 4 * o->picture.count * o->picture.ranks;
    p.stretches = memory_new((size_t)most, sizeof *p.stretches);
    p.count = timeline_stretches(&o->picture, p.step, p.stretches, most);
    for (int i = 0; i < p.count; i++)
        p.end = fmax(p.end, p.stretches[i].end);
    p.told = waiting_told(&o->picture, p.step, &p.last);
    fold(&p, o->picture.ranks);
    keep_drawn(&p);
    return p;
}

void picture_drop(struct picture *p)
{
    free(p->stretches);
    free(p->told);
    free(p->folded);
}
