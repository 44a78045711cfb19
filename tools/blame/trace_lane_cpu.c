/* trace_lane_cpu: the phases of the CPU, from the ranges with known names. */
#include "trace_lane.h"

#include "base/memory.h"

#include <stdlib.h>

enum { UNKNOWN = SPAN_PHASES };

static int compare_ranges(const void *a, const void *b)
{
    const struct trace_range *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->end < y->end) - (x->end > y->end);
}

/* Walk through time, with the ranges around the current moment on a stack, the latest on top. */
struct walk {
    struct trace_phases *phases;
    const struct trace_range **open; /* (count) */
    size_t count;
    int64_t now;
};

static void walk_to(struct walk *walk, int64_t time)
{
    while (walk->now < time) {
        while (walk->count > 0 && walk->open[walk->count - 1]->end <= walk->now)
            walk->count--;
        const struct trace_range *top = walk->count > 0 ? walk->open[walk->count - 1] : NULL;
        int64_t until = top && top->end < time ? top->end : time;
        trace_phases_add(walk->phases, walk->now, until, top ? top->phase : UNKNOWN);
        walk->now = until;
    }
}

/* Return the phase of a gap between ranges of one step; UNKNOWN stands for the step's begin or end. */
static int phase_of_gap(int before, int after)
{
    if (before == UNKNOWN && after == UNKNOWN)
        return SPAN_OTHER;
    if (after == SPAN_FORWARD)
        return before == SPAN_FORWARD ? SPAN_FORWARD : SPAN_DATA;
    if (after == SPAN_BACKWARD && before != SPAN_BACKWARD)
        return SPAN_FORWARD;
    if (before == UNKNOWN)
        return after == SPAN_HOST ? SPAN_HOST : SPAN_DATA;
    if (after == UNKNOWN)
        return before == SPAN_FORWARD ? SPAN_FORWARD : before == SPAN_BACKWARD ? SPAN_OTHER : SPAN_HOST;
    return after == SPAN_DATA ? SPAN_DATA : before;
}

/* Name the gaps, and join neighbours that are alike then. Return their number. */
static int name_gaps(struct trace_phase *phases, int count)
{
    for (int i = 0; i < count; i++) {
        if (phases[i].kind != UNKNOWN)
            continue;
        bool has_before = i > 0 && phases[i - 1].step == phases[i].step;
        bool has_after = i + 1 < count && phases[i + 1].step == phases[i].step;
        phases[i].kind =
            (uint8_t)phase_of_gap(has_before ? phases[i - 1].kind : UNKNOWN, has_after ? phases[i + 1].kind : UNKNOWN);
    }
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (kept > 0 && phases[kept - 1].step == phases[i].step && phases[kept - 1].kind == phases[i].kind)
            phases[kept - 1].end = phases[i].end;
        else
            phases[kept++] = phases[i];
    return kept;
}

struct trace_phase *trace_cpu_phases(struct trace_rank *rank, int *count)
{
    *count = 0;
    struct trace_range *ranges = rank->ranges.at;
    const struct trace_step *steps = rank->steps.at;
    const size_t range_count = rank->ranges.count;
    if (rank->steps.count == 0)
        return NULL;
    if (range_count)
        qsort(ranges, range_count, sizeof *ranges, compare_ranges);
    struct trace_phases phases = { .steps = steps, .step_count = (int)rank->steps.count };
    struct walk walk = { .phases = &phases, .now = steps[0].start };
    walk.open = memory_grow(NULL, (range_count + 1) * sizeof(const struct trace_range *));
    int64_t end = steps[rank->steps.count - 1].end;
    for (size_t i = 0; i < range_count && ranges[i].start < end; i++) {
        walk_to(&walk, ranges[i].start);
        walk.open[walk.count++] = &ranges[i];
    }
    walk_to(&walk, end);
    free((void *)walk.open);
    *count = name_gaps(phases.list.at, (int)phases.list.count);
    return phases.list.at;
}
