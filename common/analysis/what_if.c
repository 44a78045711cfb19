#include "analysis/what_if.h"

#include "analysis/matched_collectives.h"
#include "analysis/rank_events.h"
#include "base/memory.h"
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>

/* The next action of a rank. */
struct act {
    enum { WORK, START, ENTER } what;
    int phase, step; /* of work; steps count from the first measured one */
    double seconds;  /* of work; of a start: since the rank entered the wait that the start falls into, else infinite */
    struct matched_call call;
};

/* Collectives while they are replayed, by their numbers. */
struct replayed {
    double transfer;
    int missing;   /* members that have not started it */
    double latest; /* start of those that have */
};

struct what_if {
    const struct timeline *timeline;
    struct matched_collectives matched;
    struct act *acts; /* of all ranks, one rank after the other */
    int *begin;       /* (ranks + 1) index of a rank's first act */
    double *work;     /* (steps, SPAN_PHASES, ranks) seconds */

    /* of one replay */
    double *share;                /* (steps, SPAN_PHASES, ranks) of the work that is left */
    double *started;              /* (ranks, count of the timeline) of each call; NaN: not yet */
    struct replayed *collectives; /* (collectives) */
    struct clock {
        int next; /* act */
        double now, entered;
    } * clocks; /* (ranks) */
};

static size_t cell_of(const struct what_if *w, int step, int phase, int rank)
{
    return ((size_t)step * SPAN_PHASES + (size_t)phase) * (size_t)w->timeline->ranks + (size_t)rank;
}

/* --- what each rank does ---------------------------------------------------------------------------------------- */

static struct act *add_act(struct what_if *w, int rank, struct act act)
{
    w->acts[w->begin[rank + 1]] = act;
    return &w->acts[w->begin[rank + 1]++];
}

/* Add the work of a rank from `from` to `to`, phase by phase, starting at its span *at. A phase adds an act even without work, so that
 * its step ends after the waits in it. */
static void add_work(struct what_if *w, int rank, int *at, double from, double to)
{
    const struct timeline *t = w->timeline;
    const struct span *spans = t->spans + (size_t)rank * (size_t)t->count;
    for (; *at < t->count; ++*at) {
        const struct span *span = &spans[*at];
        const int step = span->step - t->first_step;
        if (!span_is_phase(span) || step < 0 || step >= t->steps)
            continue;
        if (span->start > to)
            return;
        const double seconds = fmax(0, fmin(to, span->end) - fmax(from, span->start));
        w->work[cell_of(w, step, span->kind, rank)] += seconds;
        add_act(w, rank, (struct act){ .what = WORK, .phase = span->kind, .step = step, .seconds = seconds });
        if (span->end >= to)
            return;
    }
}

/* True if a collective lies in the measured steps of all its members. */
static bool is_within(const struct matched *collective, const struct rank_window *windows)
{
    bool is = true;
    for (int i = 0; i < collective->members; i++)
        is &= rank_window_has(windows[collective->rank[i]], collective->at[i]);
    return is;
}

static void add_rank(struct what_if *w, int rank, const struct rank_window *windows, struct rank_event *events)
{
    const int count = rank_events_list(&w->matched, w->timeline, rank, windows[rank], events);
    double from = windows[rank].begin, entered = 0; /* from: end of the last wait, or the last event */
    int at = 0;
    for (int i = 0; i < count; i++) {
        const struct rank_event *event = &events[i];
        const struct span *call = matched_span(event->of);
        if (!is_within(event->of.collective, windows))
            continue;
        bool is_waiting = event->time < from; /* it starts this one while it waits for another */
        if (!is_waiting)
            add_work(w, rank, &at, from, event->time);
        add_act(w, rank,
                (struct act){ .what = event->is_entry ? ENTER : START,
                              .seconds = is_waiting ? event->time - entered : INFINITY,
                              .call = event->of });
        entered = event->is_entry ? event->time : entered;
        from = fmax(from, event->is_entry ? call->end : event->time);
    }
    add_work(w, rank, &at, from, INFINITY);
}

/* Compute the lower median of the members' times from the last awaited start to the end. */
static double transfer_of(const struct matched *collective, double *scratch)
{
    for (int i = 0; i < collective->members; i++) {
        const struct matched_call call = { collective, i };
        scratch[i] = fmax(0, matched_span(call)->end - matched_awaited(call).latest);
    }
    return stats_lower_median(scratch, collective->members);
}

static bool are_peers_known(const struct timeline *t, const struct matched_collectives *matched)
{
    bool are = true;
    for (int n = 0; n < matched->count; n++)
        are &= !(t->hides_peers && span_has_peers(matched->at[n].at[0]));
    return are;
}

static void add_all(struct what_if *w)
{
    const struct timeline *t = w->timeline;
    const size_t ranks = (size_t)t->ranks, spans = ranks * (size_t)t->count;
    struct rank_window *windows = memory_new(ranks, sizeof *windows);
    struct rank_event *events = memory_new(2 * (size_t)t->count, sizeof *events);
    double *scratch = memory_new(ranks, sizeof *scratch);
    for (int rank = 0; rank < t->ranks; rank++)
        windows[rank] = rank_window_of(t, rank);
    w->acts =
        memory_new(5 * spans, sizeof *w->acts); /* a span has two events, a piece of work before each, and one behind */
    for (int rank = 0; rank < t->ranks; rank++) {
        w->begin[rank + 1] = w->begin[rank];
        add_rank(w, rank, windows, events);
    }
    for (int n = 0; n < w->matched.count; n++)
        w->collectives[n].transfer = transfer_of(&w->matched.at[n], scratch);
    free(scratch);
    free(events);
    free(windows);
}

struct what_if *what_if_open(const struct timeline *t)
{
    struct what_if *w = memory_new(1, sizeof *w);
    const size_t ranks = (size_t)t->ranks, cells = (size_t)t->steps * SPAN_PHASES * ranks;
    w->timeline = t;
    w->matched = matched_collectives_find(t);
    if (t->hides_arrivals || !w->matched.are_alike || !are_peers_known(t, &w->matched)) {
        what_if_close(w);
        return NULL;
    }
    w->begin = memory_new(ranks + 1, sizeof *w->begin);
    w->work = memory_new(cells, sizeof *w->work);
    w->share = memory_new(cells, sizeof *w->share);
    w->started = memory_new(ranks * (size_t)t->count, sizeof *w->started);
    w->collectives = memory_new((size_t)w->matched.count, sizeof *w->collectives);
    w->clocks = memory_new(ranks, sizeof *w->clocks);
    add_all(w);
    return w;
}

void what_if_close(struct what_if *w)
{
    if (!w)
        return;
    matched_collectives_close(&w->matched);
    free(w->acts);
    free(w->begin);
    free(w->work);
    free(w->share);
    free(w->started);
    free(w->collectives);
    free(w->clocks);
    free(w);
}

/* --- a replay --------------------------------------------------------------------------------------------------- */

/* Set the shares of one phase of a step. */
static void fix_phase(struct what_if *w, struct what_if_fix fix, int step, int phase, double *scratch)
{
    const int ranks = w->timeline->ranks;
    const size_t at = cell_of(w, step, phase, 0);
    int others = 0;
    for (int pass = 0; pass < 2 && others == 0; pass++) /* the second: all ranks are fixed */
        for (int rank = 0; rank < ranks; rank++)
            if (pass == 1 || !fix.ranks[rank])
                scratch[others++] = w->work[at + (size_t)rank];
    const double median = stats_lower_median(scratch, others);
    for (int rank = 0; rank < ranks; rank++)
        if (fix.ranks[rank] && w->work[at + (size_t)rank] > median)
            w->share[at + (size_t)rank] = median / w->work[at + (size_t)rank];
}

static void begin_replay(struct what_if *w, struct what_if_fix fix)
{
    const struct timeline *t = w->timeline;
    const size_t ranks = (size_t)t->ranks;
    double *scratch = memory_new(ranks, sizeof *scratch);
    for (size_t i = 0; i < (size_t)t->steps * SPAN_PHASES * ranks; i++)
        w->share[i] = 1;
    for (int step = 0; fix.ranks && step < t->steps; step++)
        for (int phase = 0; phase < SPAN_PHASES; phase++)
            if (fix.phase == SPAN_PHASES || fix.phase == phase)
                fix_phase(w, fix, step, phase, scratch);
    free(scratch);
    for (size_t i = 0; i < ranks * (size_t)t->count; i++)
        w->started[i] = (double)NAN;
    for (int n = 0; n < w->matched.count; n++) {
        w->collectives[n].missing = w->matched.at[n].members;
        w->collectives[n].latest = -INFINITY;
    }
    for (size_t rank = 0; rank < ranks; rank++)
        w->clocks[rank] = (struct clock){ .next = w->begin[rank] };
}

static double *started_at(const struct what_if *w, const struct matched *collective, int member)
{
    return &w->started[collective->at[member] - w->timeline->spans];
}

/* Return when the ranks for which a call waits have started; NaN if one has not. */
static double awaited_start(const struct what_if *w, struct matched_call call)
{
    const struct matched *c = call.collective;
    const struct span *span = matched_span(call);
    const struct replayed *replayed = &w->collectives[c - w->matched.at];
    if (!span_has_peers(span))
        return replayed->missing > 0 ? (double)NAN : replayed->latest;
    const int peers[] = { matched_member(c, span->from), matched_member(c, span->to) };
    double latest = *started_at(w, c, call.member);
    for (int i = 0; i < 2; i++) {
        double start = peers[i] < 0 ? -INFINITY : *started_at(w, c, peers[i]);
        if (isnan(start))
            return start;
        latest = peers[i] >= 0 && (span->kind == SPAN_BROADCAST || start > latest) ? start : latest;
    }
    return latest;
}

static void start(struct what_if *w, const struct clock *clock, const struct act *act)
{
    const struct matched *c = act->call.collective;
    struct replayed *replayed = &w->collectives[c - w->matched.at];
    double *started = started_at(w, c, act->call.member);
    *started = fmin(clock->now, clock->entered + act->seconds);
    replayed->latest = fmax(replayed->latest, *started);
    replayed->missing--;
}

/* Let a rank act until it waits for a rank that has not started. Return false if it could not act at all. */
static bool advance(struct what_if *w, int rank, double *ends)
{
    struct clock *clock = &w->clocks[rank];
    const int first = clock->next;
    for (; clock->next < w->begin[rank + 1]; clock->next++) {
        const struct act *act = &w->acts[clock->next];
        if (act->what == WORK) {
            clock->now += act->seconds * w->share[cell_of(w, act->step, act->phase, rank)];
            ends[act->step] = fmax(ends[act->step], clock->now);
        } else if (act->what == START) {
            start(w, clock, act);
        } else {
            double awaited = awaited_start(w, act->call);
            if (isnan(awaited))
                break;
            clock->entered = clock->now;
            clock->now = fmax(clock->now, awaited + w->collectives[act->call.collective - w->matched.at].transfer);
        }
    }
    return clock->next > first;
}

bool what_if_replay(struct what_if *w, struct what_if_fix fix, double *lengths)
{
    const struct timeline *t = w->timeline;
    bool is_moving = true, is_done = true;
    begin_replay(w, fix);
    for (int step = 0; step < t->steps; step++)
        lengths[step] = 0; /* for now the end of the slowest rank's step */
    while (is_moving) {
        is_moving = false;
        for (int rank = 0; rank < t->ranks; rank++)
            is_moving |= advance(w, rank, lengths);
    }
    for (int rank = 0; rank < t->ranks; rank++)
        is_done &= w->clocks[rank].next == w->begin[rank + 1];
    for (int step = t->steps - 1; step >= 0; step--)
        lengths[step] = is_done ? lengths[step] - (step > 0 ? lengths[step - 1] : 0) : (double)NAN;
    return is_done;
}

double what_if_sum(struct what_if *w, struct what_if_fix fix)
{
    const int steps = w->timeline->steps;
    double *lengths = memory_new((size_t)steps, sizeof *lengths), sum = 0;
    what_if_replay(w, fix, lengths);
    for (int step = 0; step < steps; step++)
        sum += lengths[step];
    free(lengths);
    return sum;
}
