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

/* The phase in which span i of a rank was waited for; NULL when there is none. */
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

static void split_meeting(const struct timeline *t, struct cell *cells, const struct span *const *meeting,
                          struct check_failures *wrong)
{
    struct arrival arrival = arrival_at(t, meeting);
    for (int rank = 0; rank < t->ranks; rank++) {
        const struct span *span = meeting[rank];
        const struct span *phase = phase_around(t, spans_of(t, rank), (int)(span - spans_of(t, rank)));
        if (!(span->start <= span->entered && span->entered <= span->end))
            check_failures_add(wrong, "rank %d: its clock goes back in %s %d", rank, span_names[span->kind],
                               span->sequence);
        if (span->end < arrival.latest - t->clock_error)
            check_failures_add(wrong, "rank %d: %s %d ends on it %g ms before all have come", rank,
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
    struct matched_collectives meetings = matched_collectives_find(t);
    if (!meetings.are_alike)
        check_failures_add(&wrong, "the ranks made different collective calls");
    for (int n = 0; meetings.are_alike && n < meetings.count; n++)
        split_meeting(t, cells, meetings.at + n * t->ranks, &wrong);
    matched_collectives_close(&meetings);
    return wrong;
}

/* --- what-if ---------------------------------------------------------------------------------------------------- */

/* The moments at which a rank hands a collective over or begins to wait for it, in the order of its time. */
struct event {
    double time;
    int meeting;
    bool is_entry;
};

static int compare_events(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if (x->time < y->time || x->time > y->time)
        return x->time < y->time ? -1 : 1;
    if (x->meeting != y->meeting)
        return x->meeting < y->meeting ? -1 : 1;
    return (int)x->is_entry - (int)y->is_entry;
}

/* The window of a rank's measured steps: from the first phase in it to the end of the last. */
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

static int events_of(const struct matched_collectives *meetings, int rank, int ranks, double begin, double end,
                     struct event *events)
{
    int count = 0;
    for (int n = 0; n < meetings->count; n++) {
        const struct span *span = meetings->at[n * ranks + rank];
        if (span->start < begin || span->end > end)
            continue;
        events[count++] = (struct event){ .time = span->start, .meeting = n };
        events[count++] = (struct event){ .time = span->entered, .meeting = n, .is_entry = true };
    }
    qsort(events, (size_t)count, sizeof *events, compare_events);
    return count;
}

/* A window of steps cut at its events: what each rank did between them. */
struct score {
    struct matched_collectives meetings;
    struct event *events; /* (count) alike on all ranks but for their times */
    int count;
    double *pieces; /* (count + 1, ranks) seconds */
    bool are_alike; /* the ranks' events come in the same order */
};

static void add_rank(struct score *score, const struct timeline *t, int rank, struct event *scratch)
{
    double begin, end;
    window_of(t, rank, &begin, &end);
    struct event *events = rank == 0 ? score->events : scratch;
    int count = events_of(&score->meetings, rank, t->ranks, begin, end, events);
    if (rank == 0)
        score->count = count;
    score->are_alike &= count == score->count;
    double free_since = begin; /* when the rank could go on with work of its own */
    for (int j = 0; score->are_alike && j < count; j++) {
        const struct event *event = &events[j], *first = &score->events[j];
        score->are_alike &= event->meeting == first->meeting && event->is_entry == first->is_entry;
        score->pieces[j * t->ranks + rank] = event->time - free_since;
        free_since = event->is_entry ? score->meetings.at[event->meeting * t->ranks + rank]->end : event->time;
    }
    score->pieces[score->count * t->ranks + rank] = end - free_since;
}

/* Plays the window with every piece and every transfer replaced by its median over ranks. Returns its length. */
static double play(const struct score *score, const struct timeline *t)
{
    const int ranks = t->ranks;
    double *started = memory_new((size_t)score->meetings.count, sizeof *started);
    double *costs = memory_new((size_t)ranks, sizeof *costs);
    double now = 0;
    for (int j = 0; j < score->count; j++) {
        const struct event *event = &score->events[j];
        now += stats_lower_median(score->pieces + j * ranks, ranks);
        if (!event->is_entry) {
            started[event->meeting] = now;
            continue;
        }
        const struct span *const *meeting = score->meetings.at + event->meeting * ranks;
        double latest = arrival_at(t, meeting).latest;
        for (int rank = 0; rank < ranks; rank++)
            costs[rank] = fmax(0, meeting[rank]->end - latest);
        now = fmax(now, started[event->meeting] + stats_lower_median(costs, ranks));
    }
    now += stats_lower_median(score->pieces + score->count * ranks, ranks);
    free(started);
    free(costs);
    return now;
}

double timeline_what_if(const struct timeline *t)
{
    struct score score = { .meetings = matched_collectives_find(t) };
    size_t most = 2 * (size_t)score.meetings.count;
    struct event *scratch = memory_new(most, sizeof *scratch);
    score.events = memory_new(most, sizeof *score.events);
    score.pieces = memory_new((most + 1) * (size_t)t->ranks, sizeof *score.pieces);
    score.are_alike = score.meetings.are_alike;
    for (int rank = 0; score.are_alike && rank < t->ranks; rank++)
        add_rank(&score, t, rank, scratch);
    double length = score.are_alike && !t->hides_arrivals ? play(&score, t) : (double)NAN;
    free(scratch);
    free(score.events);
    free(score.pieces);
    matched_collectives_close(&score.meetings);
    return length / t->steps;
}

/* --- pictures --------------------------------------------------------------------------------------------------- */

struct sketch {
    struct segment *at;
    int count, most;
    double origin;
};

static void add_stretch(struct sketch *sketch, struct segment segment)
{
    if (sketch->count == sketch->most || !(segment.end > segment.start))
        return;
    segment.start -= sketch->origin;
    segment.end -= sketch->origin;
    sketch->at[sketch->count++] = segment;
}

/* A phase, interrupted by what was exposed in it. */
static void sketch_phase(struct sketch *sketch, const struct timeline *t, const struct matched_collectives *meetings,
                         int rank, const struct span *phase)
{
    const int ranks = t->ranks;
    double from = phase->start;
    for (int n = 0; n < meetings->count; n++) {
        const struct span *const *meeting = meetings->at + n * ranks;
        const struct span *c = meeting[rank];
        if (c->entered < phase->start || c->end > phase->end)
            continue;
        struct arrival arrival = arrival_at(t, meeting);
        struct parts parts = parts_of(t, c, arrival.latest);
        double split = c->entered + parts.wait;
        double late = ranks > 1 && rank == arrival.last && !t->hides_arrivals ? arrival.latest - arrival.second : 0;
        add_stretch(sketch, (struct segment){ rank, 0, phase->kind, from, c->entered, 0 });
        if (parts.is_known) {
            add_stretch(sketch, (struct segment){ rank, 0, SEGMENT_WAIT, c->entered, split, 0 });
            add_stretch(sketch, (struct segment){ rank, 0, SEGMENT_TRANSFER, split, c->end, late });
        } else {
            add_stretch(sketch, (struct segment){ rank, 0, SEGMENT_EXPOSED, c->entered, c->end, 0 });
        }
        add_stretch(sketch, (struct segment){ rank, 1, SEGMENT_TRAVEL, c->start, c->entered, 0 });
        from = c->end;
    }
    add_stretch(sketch, (struct segment){ rank, 0, phase->kind, from, phase->end, 0 });
}

int timeline_segments(const struct timeline *t, int step, struct segment *segments, int most)
{
    struct sketch sketch = { .at = segments, .most = most, .origin = INFINITY };
    struct matched_collectives meetings = matched_collectives_find(t);
    for (int i = 0; i < t->ranks * t->count; i++)
        if (t->spans[i].step == step)
            sketch.origin = fmin(sketch.origin, t->spans[i].start);
    for (int rank = 0; meetings.are_alike && rank < t->ranks; rank++)
        for (int i = 0; i < t->count; i++) {
            const struct span *span = &spans_of(t, rank)[i];
            if (span->step == step && span_is_phase(span))
                sketch_phase(&sketch, t, &meetings, rank, span);
        }
    matched_collectives_close(&meetings);
    return sketch.count;
}
