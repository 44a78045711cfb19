#include "analysis/timeline.h"

#include "analysis/matched_collectives.h"
#include "base/memory.h"
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const segment_names[SEGMENT_KINDS] = {
    [SPAN_DATA] = "data",
    [SPAN_FORWARD] = "forward",
    [SPAN_BACKWARD] = "backward",
    [SPAN_HOST] = "host",
    [SPAN_UPDATE] = "update",
    [SEGMENT_WAIT] = "wait",
    [SEGMENT_TRANSFER] = "transfer",
    [SEGMENT_EXPOSED] = "exposed",
    [SEGMENT_TRAVEL] = "travel",
};

static const struct span *spans_of(const struct timeline *t, int rank)
{
    return t->spans + (size_t)rank * (size_t)t->count;
}

static bool is_measured(const struct timeline *t, int step)
{
    return step >= t->first_step && step < t->first_step + t->steps;
}

static struct cell *cell_at(const struct timeline *t, struct cell *cells, int step, int rank)
{
    return &cells[(size_t)(step - t->first_step) * (size_t)t->ranks + (size_t)rank];
}

/* Return the phase in which a rank waited for its span i; NULL if there is none. */
static const struct span *phase_around(const struct timeline *t, const struct span *spans, int i)
{
    int before = i;
    while (before >= 0 && !span_is_phase(&spans[before]))
        before--;
    for (int j = before >= 0 ? before : 0; j < t->count; j++)
        if (span_is_phase(&spans[j]) && spans[j].start <= spans[i].entered && spans[i].end <= spans[j].end)
            return &spans[j];
    return NULL;
}

static void split_collective(const struct timeline *t, struct cell *cells, const struct span *const *collective,
                             struct check_failures *wrong)
{
    struct arrival arrival = arrival_at(t, collective);
    for (int rank = 0; rank < t->ranks; rank++) {
        const struct span *span = collective[rank];
        const struct span *phase = phase_around(t, spans_of(t, rank), (int)(span - spans_of(t, rank)));
        if (!(span->start <= span->entered && span->entered <= span->end))
            check_failures_add(wrong, "rank %d: its clock goes back in %s %d", rank, span_names[span->kind],
                               span->sequence);
        if (span->end < arrival.latest - t->clock_error)
            check_failures_add(wrong, "rank %d: %s %d ends there %g ms before the last rank arrives", rank,
                               span_names[span->kind], span->sequence, 1e3 * (arrival.latest - span->end));
        if (!phase)
            check_failures_add(wrong, "rank %d: %s %d lies in no phase", rank, span_names[span->kind], span->sequence);
        if (!phase || !is_measured(t, phase->step))
            continue;
        struct parts parts = parts_of(t, span, arrival.latest);
        struct cell *cell = cell_at(t, cells, phase->step, rank);
        cell->phase[phase->kind] -= parts.exposed;
        cell->exposed += parts.exposed;
        cell->hidden += parts.hidden;
        cell->wait += parts.is_known ? parts.wait : (double)NAN;
        cell->transfer += parts.is_known ? parts.transfer : (double)NAN;
        if (rank == arrival.last && t->ranks > 1 && !t->hides_arrivals) {
            cell->caused += (arrival.latest - arrival.second) * (t->ranks - 1);
            cell->last++;
        }
    }
}

struct check_failures timeline_split(const struct timeline *t, struct cell *cells)
{
    struct check_failures wrong = { 0 };
    memset(cells, 0, (size_t)t->steps * (size_t)t->ranks * sizeof *cells);
    for (int rank = 0; rank < t->ranks; rank++) {
        const struct span *spans = spans_of(t, rank);
        for (int i = 0; i < t->count; i++) {
            if (!span_is_phase(&spans[i]) || !is_measured(t, spans[i].step))
                continue;
            if (!(spans[i].start <= spans[i].end))
                check_failures_add(&wrong, "rank %d: its clock goes back in %s of step %d", rank,
                                   span_names[spans[i].kind], spans[i].step + 1);
            struct cell *cell = cell_at(t, cells, spans[i].step, rank);
            cell->phase[spans[i].kind] += spans[i].end - spans[i].start;
            cell->step += spans[i].end - spans[i].start;
        }
    }
    struct matched_collectives matched = matched_collectives_find(t);
    if (!matched.are_alike)
        check_failures_add(&wrong, "the ranks made different collective calls");
    for (int n = 0; matched.are_alike && n < matched.count; n++)
        split_collective(t, cells, matched.at + n * t->ranks, &wrong);
    matched_collectives_close(&matched);
    return wrong;
}

/* --- what-if ---------------------------------------------------------------------------------------------------- */

/* An event of a rank: it hands a collective over, or begins to wait for it. */
struct event {
    double time;
    int collective;
    bool is_entry;
};

static int compare_events(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if (x->time < y->time || x->time > y->time)
        return x->time < y->time ? -1 : 1;
    if (x->collective != y->collective)
        return x->collective < y->collective ? -1 : 1;
    return (int)x->is_entry - (int)y->is_entry;
}

/* Get the window of a rank's measured steps: from the start of their first phase to the end of the last. */
static void window_of(const struct timeline *t, int rank, double *begin, double *end)
{
    *begin = INFINITY;
    *end = -INFINITY;
    for (int i = 0; i < t->count; i++) {
        const struct span *span = &spans_of(t, rank)[i];
        if (span_is_phase(span) && is_measured(t, span->step)) {
            *begin = fmin(*begin, span->start);
            *end = fmax(*end, span->end);
        }
    }
}

static int events_of(const struct matched_collectives *matched, int rank, int ranks, double begin, double end,
                     struct event *events)
{
    int count = 0;
    for (int n = 0; n < matched->count; n++) {
        const struct span *span = matched->at[n * ranks + rank];
        if (span->start < begin || span->end > end)
            continue;
        events[count++] = (struct event){ .time = span->start, .collective = n };
        events[count++] = (struct event){ .time = span->entered, .collective = n, .is_entry = true };
    }
    qsort(events, (size_t)count, sizeof *events, compare_events);
    return count;
}

/* A window of steps cut at its events, with the pieces between them. */
struct replay {
    struct matched_collectives matched;
    struct event *events; /* (count) rank 0's; those of other ranks differ in their times only */
    int count;
    double *pieces; /* (count + 1, ranks) seconds */
    bool are_alike; /* the ranks' events come in the same order */
};

static void add_rank(struct replay *replay, const struct timeline *t, int rank, struct event *scratch)
{
    double begin, end;
    window_of(t, rank, &begin, &end);
    struct event *events = rank == 0 ? replay->events : scratch;
    int count = events_of(&replay->matched, rank, t->ranks, begin, end, events);
    if (rank == 0)
        replay->count = count;
    replay->are_alike &= count == replay->count;
    double free_since = begin; /* start of the rank's next piece of work */
    for (int j = 0; replay->are_alike && j < count; j++) {
        const struct event *event = &events[j], *first = &replay->events[j];
        replay->are_alike &= event->collective == first->collective && event->is_entry == first->is_entry;
        replay->pieces[j * t->ranks + rank] = event->time - free_since;
        free_since = event->is_entry ? replay->matched.at[event->collective * t->ranks + rank]->end : event->time;
    }
    replay->pieces[replay->count * t->ranks + rank] = end - free_since;
}

/* Replay the window with every piece and every transfer replaced by its median over ranks. Return its length. */
static double replay_length(const struct replay *replay, const struct timeline *t)
{
    const int ranks = t->ranks;
    double *started = memory_new((size_t)replay->matched.count, sizeof *started);
    double *costs = memory_new((size_t)ranks, sizeof *costs);
    double now = 0;
    for (int j = 0; j < replay->count; j++) {
        const struct event *event = &replay->events[j];
        now += stats_lower_median(replay->pieces + j * ranks, ranks);
        if (!event->is_entry) {
            started[event->collective] = now;
            continue;
        }
        const struct span *const *collective = replay->matched.at + event->collective * ranks;
        double latest = arrival_at(t, collective).latest;
        for (int rank = 0; rank < ranks; rank++)
            costs[rank] = fmax(0, collective[rank]->end - latest);
        now = fmax(now, started[event->collective] + stats_lower_median(costs, ranks));
    }
    now += stats_lower_median(replay->pieces + replay->count * ranks, ranks);
    free(started);
    free(costs);
    return now;
}

double timeline_what_if(const struct timeline *t)
{
    struct replay replay = { .matched = matched_collectives_find(t) };
    size_t most = 2 * (size_t)replay.matched.count;
    struct event *scratch = memory_new(most, sizeof *scratch);
    replay.events = memory_new(most, sizeof *replay.events);
    replay.pieces = memory_new((most + 1) * (size_t)t->ranks, sizeof *replay.pieces);
    replay.are_alike = replay.matched.are_alike;
    for (int rank = 0; replay.are_alike && rank < t->ranks; rank++)
        add_rank(&replay, t, rank, scratch);
    double length = replay.are_alike && !t->hides_arrivals ? replay_length(&replay, t) : (double)NAN;
    free(scratch);
    free(replay.events);
    free(replay.pieces);
    matched_collectives_close(&replay.matched);
    return length / t->steps;
}

/* --- segments --------------------------------------------------------------------------------------------------- */

struct segment_list {
    struct segment *at;
    int count, most;
    double origin;
};

static void add_segment(struct segment_list *list, struct segment segment)
{
    if (!(segment.end > segment.start))
        return;
    if (list->count == list->most) {
        list->most = list->most ? 2 * list->most : 64;
        list->at = memory_grow(list->at, (size_t)list->most * sizeof *list->at);
    }
    segment.start -= list->origin;
    segment.end -= list->origin;
    list->at[list->count++] = segment;
}

/* Add a phase, interrupted by the exposed parts of its collectives. */
static void add_phase(struct segment_list *list, const struct timeline *t, const struct matched_collectives *matched,
                      int rank, const struct span *phase)
{
    const int ranks = t->ranks;
    double from = phase->start;
    for (int n = 0; n < matched->count; n++) {
        const struct span *const *collective = matched->at + n * ranks;
        const struct span *c = collective[rank];
        if (c->entered < phase->start || c->end > phase->end)
            continue;
        struct arrival arrival = arrival_at(t, collective);
        struct parts parts = parts_of(t, c, arrival.latest);
        double split = c->entered + parts.wait;
        double late = ranks > 1 && rank == arrival.last && !t->hides_arrivals ? arrival.latest - arrival.second : 0;
        add_segment(list, (struct segment){ rank, 0, phase->kind, from, c->entered, 0 });
        if (parts.is_known) {
            add_segment(list, (struct segment){ rank, 0, SEGMENT_WAIT, c->entered, split, 0 });
            add_segment(list, (struct segment){ rank, 0, SEGMENT_TRANSFER, split, c->end, late });
        } else {
            add_segment(list, (struct segment){ rank, 0, SEGMENT_EXPOSED, c->entered, c->end, 0 });
        }
        add_segment(list, (struct segment){ rank, 1, SEGMENT_TRAVEL, c->start, c->entered, 0 });
        from = c->end;
    }
    add_segment(list, (struct segment){ rank, 0, phase->kind, from, phase->end, 0 });
}

int timeline_segments(const struct timeline *t, int step, struct segment **segments)
{
    struct segment_list list = { .origin = INFINITY };
    struct matched_collectives matched = matched_collectives_find(t);
    for (size_t i = 0; i < (size_t)t->ranks * (size_t)t->count; i++)
        if (t->spans[i].step == step)
            list.origin = fmin(list.origin, t->spans[i].start);
    for (int rank = 0; matched.are_alike && rank < t->ranks; rank++)
        for (int i = 0; i < t->count; i++) {
            const struct span *span = &spans_of(t, rank)[i];
            if (span->step == step && span_is_phase(span))
                add_phase(&list, t, &matched, rank, span);
        }
    matched_collectives_close(&matched);
    *segments = list.at;
    return list.count;
}
