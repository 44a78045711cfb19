#include "report/trace.h"

#include "analysis/matched_collectives.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "report/picture.h"
#include "report/trace_events.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct trace {
    struct trace_events events;
    const char *backend; /* of collectives, before their names; blank: none */
    bool has_steps;      /* the phases of a step follow one another without gaps */
    int flows, threads;  /* so far */
};

/* A case while its trace is written. */
struct traced_case {
    struct trace *trace;
    const struct timeline *timeline;
    int process;
    int begin, step_count; /* first step and number of steps; another program's record may begin at a late step */
    int first, steps;      /* the window */
    double origin;
    int lanes; /* per rank: its own and those of started collectives; thread = before + rank * lanes + lane */
    int before;
    int *travel_lane; /* (ranks, count) lane on which a started collective travels */
    struct matched_collectives matched;
};

/* --- events ----------------------------------------------------------------------------------------------------- */

static long long nanoseconds(const struct traced_case *s, double time)
{
    return llround(1e9 * (time - s->origin));
}

static int thread_of(const struct traced_case *s, int rank, int lane)
{
    return s->before + rank * s->lanes + lane;
}

/* Print a collective's number, group and bytes, as far as they are known. */
static void write_collective(FILE *out, const struct traced_case *s, const struct span *span)
{
    struct collective_traffic traffic = matched_traffic(s->timeline, s->matched.calls[span - s->timeline->spans]);
    fprintf(out, ",\"sequence\":%d,\"bytes\":%zu", span->sequence, span->bytes);
    if (span->group > 0)
        fprintf(out, ",\"group\":%d", span->group);
    if (isnan(traffic.sent))
        return;
    char sent[NUMBER_TEXT], received[NUMBER_TEXT];
    number_shortest(sent, traffic.sent);
    number_shortest(received, traffic.received);
    fprintf(out, ",\"sent_bytes\":%s,\"received_bytes\":%s", sent, received);
}

/* Begin a slice up to its arguments, of which the step comes first. */
static FILE *begin_slice(const struct traced_case *s, int thread, const char *name, double start, double end, int step)
{
    FILE *out = trace_begin_slice(&s->trace->events, s->process, thread, name, "user_annotation", nanoseconds(s, start),
                                  nanoseconds(s, end));
    fprintf(out, ",\"args\":{\"step\":%d,\"measured\":%s", step, step < s->timeline->first_step ? "false" : "true");
    return out;
}

static void write_slice(const struct traced_case *s, int thread, const char *name, double start, double end,
                        const struct span *span)
{
    FILE *out = begin_slice(s, thread, name, start, end, span->step);
    if (!span_is_phase(span))
        write_collective(out, s, span);
    fputs("}}", out);
}

static void write_flow_end(const struct traced_case *s, char phase, int thread, const char *name, int id, double time)
{
    FILE *out = trace_begin_event(&s->trace->events, phase, s->process, thread, name);
    fprintf(out, ",\"cat\":\"collective\",\"id\":%d", id);
    trace_write_time(out, "ts", nanoseconds(s, time));
    fputs(phase == 'f' ? ",\"bp\":\"e\"}" : "}", out);
}

/* --- a case ----------------------------------------------------------------------------------------------------- */

static bool is_within(const struct traced_case *s, const struct span *span)
{
    return span->step >= 0 && span->step >= s->first && span->step < s->first + s->steps;
}

static bool was_started(const struct span *span)
{
    return !span_is_phase(span) && span->entered > span->start;
}

static size_t index_of(const struct traced_case *s, int rank, int i)
{
    return (size_t)rank * (size_t)s->timeline->count + (size_t)i;
}

/* Give each started collective the first lane that is free at its start, since slices of one thread must not cross. */
static void assign_lanes(struct traced_case *s)
{
    const struct timeline *t = s->timeline;
    s->travel_lane = memory_new((size_t)t->ranks * (size_t)t->count, sizeof *s->travel_lane);
    double *free_since = memory_new((size_t)t->count + 1, sizeof *free_since);
    s->lanes = 1;
    for (int rank = 0; rank < t->ranks; rank++) {
        int used = 1;
        for (int i = 0; i < t->count; i++) {
            const struct span *span = &t->spans[index_of(s, rank, i)];
            if (!is_within(s, span) || !was_started(span))
                continue;
            int lane = 1;
            while (lane < used && free_since[lane] > span->start)
                lane++;
            used += lane == used;
            free_since[lane] = span->entered;
            s->travel_lane[index_of(s, rank, i)] = lane;
        }
        s->lanes = used > s->lanes ? used : s->lanes;
    }
    free(free_since);
}

static void name_threads(const struct traced_case *s)
{
    for (int rank = 0; rank < s->timeline->ranks; rank++)
        for (int lane = 0; lane < s->lanes; lane++) {
            int thread = thread_of(s, rank, lane), number = timeline_rank(s->timeline, rank);
            char *name = lane ? memory_text("rank %d, in transit", number) : memory_text("rank %d", number);
            trace_write_name(&s->trace->events, "thread_name", s->process, thread, "name", name);
            trace_write_place(&s->trace->events, "thread_sort_index", s->process, thread, thread);
            free(name);
        }
}

static void write_span(const struct traced_case *s, int rank, int i)
{
    const struct span *span = &s->timeline->spans[index_of(s, rank, i)];
    const bool has_prefix = !span_is_phase(span) && *s->trace->backend;
    char *name =
        memory_text("%s%s%s", has_prefix ? s->trace->backend : "", has_prefix ? ":" : "", span_names[span->kind]);
    int thread = thread_of(s, rank, 0);
    if (was_started(span))
        write_slice(s, thread_of(s, rank, s->travel_lane[index_of(s, rank, i)]), name, span->start, span->entered,
                    span);
    write_slice(s, thread, name, span->entered, span->end, span);
    free(name);
    if (span_is_phase(span) || !s->matched.are_alike)
        return;
    const struct matched_call call = s->matched.calls[index_of(s, rank, i)];
    const struct parts parts = parts_of(s->timeline, call);
    if (!parts.is_known || !(parts.wait > 0))
        return;
    double latest = matched_awaited(call).latest;
    write_slice(s, thread, segment_names[SEGMENT_WAIT], span->entered, fmin(latest, span->end), span);
    if (parts.transfer > 0)
        write_slice(s, thread, segment_names[SEGMENT_TRANSFER], latest, span->end, span);
}

/* Write a rank's steps, each from the first of its phases to the last. */
static void write_steps(const struct traced_case *s, int rank)
{
    double start = NAN, end = NAN;
    int step = -1;
    for (int i = 0; i <= s->timeline->count; i++) {
        const struct span *span = i < s->timeline->count ? &s->timeline->spans[index_of(s, rank, i)] : NULL;
        if (span && (!span_is_phase(span) || !is_within(s, span)))
            continue;
        if (step >= 0 && (!span || span->step != step)) {
            char *name = memory_text("ProfilerStep#%d", step);
            fputs("}}", begin_slice(s, thread_of(s, rank, 0), name, start, end, step));
            free(name);
        }
        if (!span)
            break;
        start = span->step == step ? start : span->start;
        end = span->end;
        step = span->step;
    }
}

static void write_slices(const struct traced_case *s)
{
    for (int rank = 0; s->trace->has_steps && rank < s->timeline->ranks; rank++)
        write_steps(s, rank);
    for (int rank = 0; rank < s->timeline->ranks; rank++)
        for (int i = 0; i < s->timeline->count; i++)
            if (is_within(s, &s->timeline->spans[index_of(s, rank, i)]))
                write_span(s, rank, i);
}

/* Thread and time of an arrow's end. */
struct anchor {
    int thread;
    double time;
};

/* Find a slice of a rank's collective in which an arrow may end at `time` or soon after. False if there is none. */
static bool find_anchor(const struct traced_case *s, const struct span *span, int rank, double time,
                        struct anchor *anchor)
{
    double at = fmax(time, span->entered);
    if (nanoseconds(s, at) < nanoseconds(s, span->end)) {
        *anchor = (struct anchor){ thread_of(s, rank, 0), at };
        return true;
    }
    /* The collective ended before the rank waited for it, or when the last rank arrived: try the lane on which it travelled. */
    size_t index = (size_t)(span - s->timeline->spans);
    at = fmax(time, span->start);
    *anchor = (struct anchor){ thread_of(s, rank, s->travel_lane[index]), at };
    return was_started(span) && nanoseconds(s, at) < nanoseconds(s, span->entered);
}

/* Return the member from which a call's arrow starts: the last one of the group to arrive, of a broadcast the root, of a message
 * the sender. If several were last, the first of them; if arrivals are unknown, the first of the group. -1: none. */
static int source_of(const struct traced_case *s, struct matched_call call)
{
    const struct span *span = matched_span(call);
    if (span_has_peers(span))
        return s->timeline->hides_peers ? -1 : matched_member(call.collective, span->from);
    return s->timeline->hides_arrivals ? 0 : call.collective->cause;
}

/* Find where the arrows of a call begin. A started collective left its rank on the second lane. */
static bool find_source(const struct traced_case *s, struct matched_call call, struct anchor *from)
{
    const struct span *span = matched_span(call);
    int rank = call.collective->rank[call.member];
    if (!was_started(span))
        return find_anchor(s, span, rank, span->start, from);
    *from = (struct anchor){ thread_of(s, rank, s->travel_lane[span - s->timeline->spans]), span->start };
    return true;
}

static void write_flow(const struct traced_case *s, struct matched_call source, struct matched_call call)
{
    const struct timeline *t = s->timeline;
    struct anchor from, to;
    const struct span *span = matched_span(call);
    int rank = call.collective->rank[call.member];
    if (!find_source(s, source, &from) || !find_anchor(s, span, rank, from.time, &to))
        return;
    /* A rank that never stood still did not wait. Of other ranks, waiting may be unknown. Waits within the clocks' error are 0. */
    const struct parts parts = parts_of(t, call);
    double latest = matched_awaited(call).latest;
    bool has_waited = parts.wait > 0 || (span->start <= latest && span->entered >= latest);
    bool is_late = call.collective->last >= 0 && to.thread == thread_of(s, rank, 0) && parts.is_known && has_waited;
    const char *name = is_late ? "last rank arrives" : "collective";
    int id = ++s->trace->flows;
    write_flow_end(s, 's', from.thread, name, id, from.time);
    write_flow_end(s, 'f', to.thread, name, id, to.time);
}

static void write_flows(const struct traced_case *s, const struct matched *collective)
{
    for (int member = 0; member < collective->members; member++) {
        struct matched_call call = { collective, member };
        int source = source_of(s, call);
        if (source >= 0 && source != member)
            write_flow(s, (struct matched_call){ collective, source }, call);
    }
}

/* Return the most events that a step can have. Each rank has a slice of the step. A collective has a slice on its rank's lane, one more
 * if it was started, two for wait and transfer, and both ends of an arrow. */
static double step_events(const struct traced_case *s)
{
    const struct timeline *t = s->timeline;
    double *events = memory_new((size_t)s->step_count, sizeof *events), most = 0;
    for (int step = 0; step < s->step_count; step++)
        events[step] = t->ranks;
    for (int i = 0; i < t->ranks * t->count; i++) {
        const struct span *span = &t->spans[i];
        if (span->step < 0)
            continue;
        double *of = &events[span->step - s->begin];
        *of += span_is_phase(span) ? 1 : 5 + was_started(span);
        most = fmax(most, *of);
    }
    free(events);
    return most;
}

/* Choose the steps to keep: all, or as many as the limits allow around the typical step. */
static void choose_window(struct traced_case *s, const struct outcome *o, int cases)
{
    const struct timeline *t = s->timeline;
    int last = -1;
    s->begin = INT_MAX;
    for (int i = 0; i < t->ranks * t->count; i++) {
        int step = t->spans[i].step;
        if (step < 0)
            continue;
        s->begin = step < s->begin ? step : s->begin;
        last = step > last ? step : last;
    }
    s->step_count = last < 0 ? 0 : last - s->begin + 1;
    double most = TRACE_EVENTS_MOST / (double)cases / step_events(s);
    s->steps = most < 1 ? 1 : most < TRACE_STEPS_MOST ? (int)most : TRACE_STEPS_MOST;
    s->steps = s->steps < s->step_count ? s->steps : s->step_count;
    int left_out = s->step_count - s->steps, before = picture_step(o) - s->steps / 2 - s->begin;
    s->first = s->begin + (before < 0 ? 0 : before > left_out ? left_out : before);
}

/* Write a case. Returns the number of steps kept, 0 if all. */
static int write_case(struct trace *trace, const struct outcome *o, int process, int cases)
{
    const struct timeline *t = &o->picture;
    struct traced_case s = { .trace = trace, .timeline = t, .process = process, .before = trace->threads + 1 };
    choose_window(&s, o, cases);
    s.origin = INFINITY;
    for (int i = 0; i < t->ranks * t->count; i++)
        if (is_within(&s, &t->spans[i]))
            s.origin = fmin(s.origin, t->spans[i].start);
    assign_lanes(&s);
    s.matched = matched_collectives_find(t);
    trace->threads += t->ranks * s.lanes;
    char *name = s.steps < s.step_count
                     ? memory_text("%s: steps %d to %d of %d", o->name, s.first, s.first + s.steps - 1, s.step_count)
                     : memory_text("%s", o->name);
    trace_write_name(&trace->events, "process_name", process, s.before, "name", name);
    trace_write_name(&trace->events, "process_labels", process, s.before, "labels", o->idea);
    trace_write_place(&trace->events, "process_sort_index", process, s.before, process);
    free(name);
    name_threads(&s);
    write_slices(&s);
    for (int n = 0; s.matched.are_alike && n < s.matched.count; n++)
        if (is_within(&s, s.matched.at[n].at[0]))
            write_flows(&s, &s.matched.at[n]);
    matched_collectives_close(&s.matched);
    free(s.travel_lane);
    return s.steps < s.step_count ? s.steps : 0;
}

int trace_write(const struct report *report)
{
    FILE *out = file_set_begin(report->files, report->folder, "trace.json");
    struct trace trace = { .backend = strcmp(report->backend, "sim") == 0 ? "mpi" : report->backend,
                           .has_steps = !report->has_only_spans };
    int kept = 0;
    trace_open(&trace.events, out);
    for (int i = 0; i < report->cases; i++) {
        int steps = write_case(&trace, &report->outcomes[i], i + 1, report->cases);
        if (steps > 0 && (kept == 0 || steps < kept))
            kept = steps;
    }
    trace_end_events(&trace.events);
    fprintf(out, "{\"lab\":\"%s\",\"backend\":\"%s\",\"platform\":", report->lab, report->backend);
    json_text(out, report->platform);
    fprintf(out, ",\"window\":\"a typical round of each case%s\"}\n}\n",
            kept ? "; of a long case, the steps in its name, around the step in lanes.csv" : ", all steps");
    return kept;
}
