#include "report/timeline_view.h"

#include "analysis/blame_sentence.h"
#include "base/memory.h"
#include "report/picture.h"

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

enum { SAMPLES = 200 }; /* times at which two ranks are compared */

/* Return the kind of segment that each rank is in at each sample: (ranks, SAMPLES), -1 for none. */
static signed char *sample_kinds(const struct timeline_view *p, int ranks)
{
    signed char *kinds = memory_new((size_t)ranks * SAMPLES, sizeof *kinds);
    for (int i = 0; i < ranks * SAMPLES; i++)
        kinds[i] = -1;
    for (int i = 0; i < p->count && p->end > 0; i++) {
        const struct segment *s = &p->segments[i];
        for (int at = (int)ceil(s->start / p->end * SAMPLES);
             s->lane == 0 && at < SAMPLES && at < s->end / p->end * SAMPLES; at++)
            kinds[s->rank * SAMPLES + at] = (signed char)s->kind;
    }
    return kinds;
}

static bool are_alike(const signed char *a, const signed char *b, double share)
{
    int differ = 0;
    for (int at = 0; at < SAMPLES; at++)
        differ += a[at] != b[at];
    return differ <= share * SAMPLES;
}

static void collapse_within(struct timeline_view *p, const signed char *kinds, int ranks)
{
    p->collapsed_count = 0;
    for (int rank = 0; rank < ranks; rank++) {
        struct collapsed_ranks *before = p->collapsed_count > 0 ? &p->collapsed[p->collapsed_count - 1] : NULL;
        bool is_joined =
            before && p->fold > 0 && rank != p->last && before->first != p->last &&
            are_alike(kinds + (ptrdiff_t)before->first * SAMPLES, kinds + (ptrdiff_t)rank * SAMPLES, p->fold);
        if (is_joined)
            before->last = rank;
        else
            p->collapsed[p->collapsed_count++] = (struct collapsed_ranks){ rank, rank };
    }
}

/* Collapse ranks no more than necessary. The loop ends, because at a share of 1 all ranks count as alike. */
static void collapse(struct timeline_view *p, int ranks)
{
    p->collapsed = memory_new((size_t)ranks, sizeof *p->collapsed);
    signed char *kinds = sample_kinds(p, ranks);
    collapse_within(p, kinds, ranks);
    for (double share = 0.02; p->collapsed_count > TIMELINE_VIEW_LANES_MOST; share = fmin(1, 2 * share)) {
        p->fold = share;
        collapse_within(p, kinds, ranks);
    }
    free(kinds);
}

/* Keep only the segments of the drawn ranks. */
static void keep_drawn(struct timeline_view *p)
{
    int kept = 0, at = 0; /* segments and collapsed ranks are sorted by rank */
    for (int i = 0; i < p->count; i++) {
        while (at < p->collapsed_count - 1 && p->segments[i].rank > p->collapsed[at].last)
            at++;
        if (p->segments[i].rank == p->collapsed[at].first)
            p->segments[kept++] = p->segments[i];
    }
    p->count = kept;
}

bool timeline_view_has_lane(const struct timeline_view *p, int rank, int lane)
{
    for (int i = 0; i < p->count; i++)
        if (p->segments[i].rank == rank && p->segments[i].lane == lane)
            return true;
    return false;
}

struct timeline_view timeline_view_take(const struct outcome *o)
{
    struct timeline_view p = { .step = picture_step(o), .numbers = o->picture.numbers };
    p.count = timeline_segments(&o->picture, p.step, &p.segments);
    for (int i = 0; i < p.count; i++)
        p.end = fmax(p.end, p.segments[i].end);
    p.text = blame_sentence(&o->picture, p.step, &p.last);
    collapse(&p, o->picture.ranks);
    keep_drawn(&p);
    return p;
}

void timeline_view_drop(struct timeline_view *p)
{
    free(p->segments);
    free(p->text);
    free(p->collapsed);
}
