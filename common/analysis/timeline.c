#include "analysis/timeline.h"

#include "analysis/matched_collectives.h"
#include "analysis/rank_events.h"
#include "base/memory.h"
#include "base/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const segment_names[SEGMENT_KINDS] = {
    [SPAN_DATA] = "data",        [SPAN_FORWARD] = "forward",      [SPAN_BACKWARD] = "backward",
    [SPAN_HOST] = "host",        [SPAN_UPDATE] = "update",        [SPAN_OTHER] = "other",
    [SEGMENT_WAIT] = "wait",     [SEGMENT_TRANSFER] = "transfer", [SEGMENT_EXPOSED] = "exposed",
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

static void check_call(const struct timeline *t, struct matched_call call, const struct span *phase,
                       struct check_failures *wrong)
{
    const struct span *span = matched_span(call);
    int rank = call.collective->rank[call.member];
    double latest = call.collective->latest;
    if (!(span->start <= span->entered && span->entered <= span->end))
        check_failures_add(wrong, "rank %d: its clock goes back in %s %d", rank, span_names[span->kind],
                           span->sequence);
    if (!span_has_peers(span) && span->end < latest - t->clock_error)
        check_failures_add(wrong, "rank %d: %s %d ends there %g ms before the last rank arrives", rank,
                           span_names[span->kind], span->sequence, 1e3 * (latest - span->end));
    if (!phase)
        check_failures_add(wrong, "rank %d: %s %d lies in no phase", rank, span_names[span->kind], span->sequence);
}

static void split_collective(const struct timeline *t, struct cell *cells, const struct matched *collective,
                             struct check_failures *wrong)
{
    for (int member = 0; member < collective->members; member++) {
        struct matched_call call = { collective, member };
        const struct span *span = matched_span(call);
        int rank = collective->rank[member];
        const struct span *phase = phase_around(t, spans_of(t, rank), (int)(span - spans_of(t, rank)));
        check_call(t, call, phase, wrong);
        if (!phase || !is_measured(t, phase->step))
            continue;
        struct parts parts = parts_of(t, call);
        struct cell *cell = cell_at(t, cells, phase->step, rank);
        cell->phase[phase->kind] -= parts.exposed;
        cell->exposed += parts.exposed;
        cell->hidden += parts.hidden;
        cell->wait += parts.is_known ? parts.wait : (double)NAN;
        cell->transfer += parts.is_known ? parts.transfer : (double)NAN;
        if (rank == collective->last) {
            cell->caused += collective->caused;
            cell->last++;
        }
    }
}

static void print_call(FILE *out, const struct mismatch *m, int i)
{
    const struct span *call = m->call[i], *other = m->call[1 - i];
    fprintf(out, "rank %d made ", m->rank[i]);
    if (!call) {
        fputs("no more calls", out);
        return;
    }
    fprintf(out, "%s %d", span_names[call->kind], call->sequence);
    if (call->bytes > 0)
        fprintf(out, " of %zu bytes", call->bytes);
    if (call->kind == SPAN_BROADCAST && call->from >= 0)
        fprintf(out, " from rank %d", call->from);
    if (other && other->step != call->step)
        fprintf(out, " in step %d", call->step + 1);
}

static void add_mismatch(struct check_failures *wrong, const struct mismatch *m)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = memory_stream(&text, &size);
    if (m->group > 0)
        fprintf(out, "group %d: ", m->group);
    print_call(out, m, 0);
    fputs(", ", out);
    print_call(out, m, 1);
    fclose(out);
    check_failures_add(wrong, "%s", text);
    free(text);
}

/* Add the phases of a rank to its cells, with the collectives inside them. */
static void add_phases(const struct timeline *t, int rank, struct cell *cells, struct check_failures *wrong)
{
    const struct span *spans = spans_of(t, rank);
    for (int step = t->first_step; step < t->first_step + t->steps; step++)
        cell_at(t, cells, step, rank)->begin = INFINITY;
    for (int i = 0; i < t->count; i++) {
        if (!is_measured(t, spans[i].step))
            continue;
        struct cell *cell = cell_at(t, cells, spans[i].step, rank);
        cell->begin = fmin(cell->begin, spans[i].start);
        cell->calls += !span_is_phase(&spans[i]);
        if (!span_is_phase(&spans[i]))
            continue;
        if (!(spans[i].start <= spans[i].end))
            check_failures_add(wrong, "rank %d: its clock goes back in %s of step %d", rank, span_names[spans[i].kind],
                               spans[i].step + 1);
        cell->phase[spans[i].kind] += spans[i].end - spans[i].start;
        cell->step += spans[i].end - spans[i].start;
    }
}

struct check_failures timeline_split(const struct timeline *t, struct cell *cells)
{
    struct check_failures wrong = { 0 };
    memset(cells, 0, (size_t)t->steps * (size_t)t->ranks * sizeof *cells);
    for (int rank = 0; rank < t->ranks; rank++)
        add_phases(t, rank, cells, &wrong);
    struct matched_collectives matched = matched_collectives_find(t);
    if (!matched.are_alike)
        add_mismatch(&wrong, &matched.mismatch);
    for (int n = 0; matched.are_alike && n < matched.count; n++)
        split_collective(t, cells, &matched.at[n], &wrong);
    matched_collectives_close(&matched);
    return wrong;
}

/* --- what-if ---------------------------------------------------------------------------------------------------- */

/* True if two ranks' events have calls of equal kind, size and step. Their groups may differ. */
static bool are_alike(const struct rank_event *x, const struct rank_event *y)
{
    const struct span *a = matched_span(x->of), *b = matched_span(y->of);
    return x->call == y->call && x->is_entry == y->is_entry && a->kind == b->kind && a->bytes == b->bytes &&
           a->step == b->step;
}

/* A window of steps cut at its events, with the pieces between them. */
struct replay {
    struct matched_collectives matched;
    struct rank_event *events; /* (count) rank 0's; those of other ranks differ in their times and groups only */
    int count;
    double *pieces;    /* (count + 1, ranks) seconds */
    double *transfers; /* (count, ranks) seconds from the last arrival to the end; of entries only */
    bool are_alike;    /* the ranks' events come in the same order */
};

/* Take rank 0's events, and make room for the pieces of all ranks between them. */
static void open_replay(struct replay *replay, const struct timeline *t)
{
    replay->events = memory_new(2 * (size_t)t->count, sizeof *replay->events);
    replay->count = rank_events_list(&replay->matched, t, 0, rank_window_of(t, 0), replay->events);
    replay->pieces = memory_new(((size_t)replay->count + 1) * (size_t)t->ranks, sizeof *replay->pieces);
    replay->transfers = memory_new((size_t)replay->count * (size_t)t->ranks, sizeof *replay->transfers);
    replay->are_alike = true;
}

static void add_rank(struct replay *replay, const struct timeline *t, int rank, struct rank_event *events)
{
    static const double rounded = 1e-6; /* seconds by which stamps of one rank may overlap */
    const struct rank_window window = rank_window_of(t, rank);
    int count = rank_events_list(&replay->matched, t, rank, window, events);
    replay->are_alike &= count == replay->count;
    double entered = window.begin, free_since = window.begin; /* start of the rank's next piece of work */
    for (int j = 0; replay->are_alike && j < count; j++) {
        const struct rank_event *event = &events[j];
        const struct span *span = matched_span(event->of);
        replay->are_alike &= are_alike(event, &replay->events[j]) && !(t->hides_peers && span_has_peers(span));
        /* an event that started during another wait would move with that wait's end */
        replay->are_alike &= event->time > free_since - rounded || event->time < entered + rounded;
        replay->pieces[j * t->ranks + rank] = event->time - free_since;
        replay->transfers[j * t->ranks + rank] = fmax(0, span->end - matched_awaited(event->of).latest);
        free_since = event->is_entry ? span->end : event->time;
        entered = event->is_entry ? event->time : entered;
    }
    if (replay->are_alike)
        replay->pieces[replay->count * t->ranks + rank] = window.end - free_since;
}

/* Replay the window with every piece and every transfer replaced by its median over ranks. Return its length. */
static double replay_length(const struct replay *replay, const struct timeline *t)
{
    const int ranks = t->ranks;
    double *started = memory_new((size_t)t->count, sizeof *started); /* of each call */
    double now = 0;
    for (int j = 0; j < replay->count; j++) {
        const struct rank_event *event = &replay->events[j];
        now += stats_lower_median(replay->pieces + j * ranks, ranks);
        if (event->is_entry)
            now = fmax(now, started[event->call] + stats_lower_median(replay->transfers + j * ranks, ranks));
        else
            started[event->call] = now;
    }
    now += stats_lower_median(replay->pieces + replay->count * ranks, ranks);
    free(started);
    return now;
}

double timeline_what_if(const struct timeline *t)
{
    struct replay replay = { .matched = matched_collectives_find(t) };
    struct rank_event *scratch = memory_new(2 * (size_t)t->count, sizeof *scratch);
    double length = (double)NAN;
    if (replay.matched.are_alike && !t->hides_arrivals) {
        open_replay(&replay, t);
        for (int rank = 0; replay.are_alike && rank < t->ranks; rank++)
            add_rank(&replay, t, rank, scratch);
        length = replay.are_alike ? replay_length(&replay, t) : (double)NAN;
    }
    free(scratch);
    free(replay.events);
    free(replay.pieces);
    free(replay.transfers);
    matched_collectives_close(&replay.matched);
    return length / t->steps;
}

/* --- segments --------------------------------------------------------------------------------------------------- */

struct segment_list {
    struct segment *at;
    int count, most;
    double origin;
    double travelled; /* end of the last started collective of the rank */
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

static void add_call(struct segment_list *list, const struct timeline *t, struct matched_call call)
{
    const struct matched *collective = call.collective;
    const struct span *c = matched_span(call);
    const int rank = collective->rank[call.member];
    struct parts parts = parts_of(t, call);
    double split = c->entered + parts.wait;
    double late = rank == collective->last ? collective->late : 0;
    if (parts.is_known) {
        add_segment(list, (struct segment){ rank, 0, SEGMENT_WAIT, c->entered, split, 0 });
        add_segment(list, (struct segment){ rank, 0, SEGMENT_TRANSFER, split, c->end, late });
    } else {
        add_segment(list, (struct segment){ rank, 0, SEGMENT_EXPOSED, c->entered, c->end, 0 });
    }
    if (c->start < c->entered) { /* one after another, as a link carries them; the first may still be on its way */
        add_segment(list, (struct segment){ rank, 1, SEGMENT_TRAVEL, fmax(c->start, list->travelled), c->end, 0 });
        list->travelled = c->end;
    }
}

/* Add a phase, interrupted by the exposed parts of its collectives: calls (count) of the rank, by time of entering. */
static void add_phase(struct segment_list *list, const struct timeline *t, int rank, const struct span *phase,
                      const struct matched_call *calls, int count)
{
    double from = phase->start;
    for (int i = 0; i < count; i++) {
        const struct span *c = matched_span(calls[i]);
        if (c->entered < phase->start || c->end > phase->end)
            continue;
        add_segment(list, (struct segment){ rank, 0, phase->kind, from, c->entered, 0 });
        add_call(list, t, calls[i]);
        from = c->end;
    }
    add_segment(list, (struct segment){ rank, 0, phase->kind, from, phase->end, 0 });
}

int timeline_segments(const struct timeline *t, int step, struct segment **segments)
{
    struct segment_list list = { .origin = INFINITY };
    struct matched_collectives matched = matched_collectives_find(t);
    struct matched_call *calls = memory_new((size_t)t->count, sizeof *calls);
    for (size_t i = 0; i < (size_t)t->ranks * (size_t)t->count; i++)
        if (t->spans[i].step == step)
            list.origin = fmin(list.origin, t->spans[i].start);
    for (int rank = 0; matched.are_alike && rank < t->ranks; rank++) {
        int count = matched_calls_of(&matched, t, rank, calls);
        list.travelled = -INFINITY;
        for (int i = 0; i < t->count; i++) {
            const struct span *span = &spans_of(t, rank)[i];
            if (span->step == step && span_is_phase(span))
                add_phase(&list, t, rank, span, calls, count);
        }
    }
    free(calls);
    matched_collectives_close(&matched);
    *segments = list.at;
    return list.count;
}
