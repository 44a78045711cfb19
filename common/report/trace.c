#include "report/trace.h"

#include "analysis/matched_collectives.h"
#include "base/memory.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* The Trace Event Format (Google, 2016), and what Perfetto makes of it (src/trace_processor/importers/json and
 * common/flow_tracker.cc of its sources, 2025):
 * - process and thread 0 mean the kernel's idle loop, so both count from 1; threads of all processes differ;
 * - slices of a thread must nest; so times are whole nanoseconds, written as microseconds with three decimals, and what
 *   begins or ends together still does;
 * - a flow's event belongs to the innermost slice that is open at its time and stands before it in the file, so they come
 *   last, and an empty slice has none; its arrow goes from the slice that began first. */
struct trace {
    FILE *out;
    int events, flows, threads; /* so far */
};

/* A case as it is written. */
struct scene {
    struct trace *trace;
    const struct timeline *line;
    int process;
    int begin, all;   /* the first of its steps, and how many there are: somebody's job may be recorded from late on */
    int first, steps; /* the window */
    double origin;
    int lanes; /* of a rank: its own and those beside it; thread = before + rank * lanes + lane */
    int before;
    int *beside; /* (ranks, count) of a started collective: the lane on which it travels */
};

/* --- events ----------------------------------------------------------------------------------------------------- */

static void write_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        if ((unsigned char)*text < ' ')
            fprintf(out, "\\u%04x", (unsigned)*text);
        else
            fputc(*text, out);
    }
    fputc('"', out);
}

static FILE *begin_event(struct trace *trace, char phase, int process, int thread, const char *name)
{
    fprintf(trace->out, "%s{\"ph\":\"%c\",\"pid\":%d,\"tid\":%d,\"name\":", trace->events++ ? ",\n" : "", phase,
            process, thread);
    write_text(trace->out, name);
    return trace->out;
}

static void write_name(struct trace *trace, const char *what, int process, int thread, const char *key,
                       const char *name)
{
    FILE *out = begin_event(trace, 'M', process, thread, what);
    fprintf(out, ",\"args\":{\"%s\":", key);
    write_text(out, name);
    fputs("}}", out);
}

static void write_place(struct trace *trace, const char *what, int process, int thread, int place)
{
    fprintf(begin_event(trace, 'M', process, thread, what), ",\"args\":{\"sort_index\":%d}}", place);
}

static void write_time(FILE *out, const char *key, long long nanoseconds)
{
    fprintf(out, ",\"%s\":%lld.%03lld", key, nanoseconds / 1000, nanoseconds % 1000);
}

static long long nanoseconds(const struct scene *s, double time)
{
    return llround(1e9 * (time - s->origin));
}

static int thread_of(const struct scene *s, int rank, int lane)
{
    return s->before + rank * s->lanes + lane;
}

static void write_slice(const struct scene *s, int thread, const char *name, double start, double end,
                        const struct span *span)
{
    FILE *out = begin_event(s->trace, 'X', s->process, thread, name);
    fprintf(out, ",\"cat\":\"%s\"", span->step < s->line->first_step ? "warm-up" : "measured");
    write_time(out, "ts", nanoseconds(s, start));
    long long lasted = nanoseconds(s, end) - nanoseconds(s, start);
    write_time(out, "dur", lasted > 0 ? lasted : 0); /* what ends before it began is among the failed checks */
    fprintf(out, ",\"args\":{\"step\":%d", span->step);
    if (!span_is_phase(span))
        fprintf(out, ",\"sequence\":%d,\"bytes\":%zu", span->sequence, span->bytes);
    fputs("}}", out);
}

static void write_flow_end(const struct scene *s, char phase, int thread, const char *name, int id, double time)
{
    FILE *out = begin_event(s->trace, phase, s->process, thread, name);
    fprintf(out, ",\"cat\":\"collective\",\"id\":%d", id);
    write_time(out, "ts", nanoseconds(s, time));
    fputs(phase == 'f' ? ",\"bp\":\"e\"}" : "}", out);
}

/* --- a case ----------------------------------------------------------------------------------------------------- */

static bool is_within(const struct scene *s, const struct span *span)
{
    return span->step >= 0 && span->step >= s->first && span->step < s->first + s->steps;
}

static bool was_started(const struct span *span)
{
    return !span_is_phase(span) && span->entered > span->start;
}

static size_t index_of(const struct scene *s, int rank, int i)
{
    return (size_t)rank * (size_t)s->line->count + (size_t)i;
}

/* Gives each started collective the first lane that is free when it starts: slices of one thread must not cross. */
static void deal_lanes(struct scene *s)
{
    const struct timeline *t = s->line;
    s->beside = memory_new((size_t)t->ranks * (size_t)t->count, sizeof *s->beside);
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
            s->beside[index_of(s, rank, i)] = lane;
        }
        s->lanes = used > s->lanes ? used : s->lanes;
    }
    free(free_since);
}

static void name_threads(const struct scene *s)
{
    for (int rank = 0; rank < s->line->ranks; rank++)
        for (int lane = 0; lane < s->lanes; lane++) {
            int thread = thread_of(s, rank, lane);
            char *name = lane ? memory_text("rank %d, travelling", rank) : memory_text("rank %d", rank);
            write_name(s->trace, "thread_name", s->process, thread, "name", name);
            write_place(s->trace, "thread_sort_index", s->process, thread, thread);
            free(name);
        }
}

static void write_span(const struct scene *s, int rank, int i, double latest)
{
    const struct span *span = &s->line->spans[index_of(s, rank, i)];
    const char *name = span_names[span->kind];
    int thread = thread_of(s, rank, 0);
    if (was_started(span))
        write_slice(s, thread_of(s, rank, s->beside[index_of(s, rank, i)]), name, span->start, span->entered, span);
    write_slice(s, thread, name, span->entered, span->end, span);
    if (span_is_phase(span))
        return;
    struct parts parts = parts_of(s->line, span, latest);
    if (!parts.is_known || !(parts.wait > 0))
        return;
    write_slice(s, thread, segment_names[SEGMENT_WAIT], span->entered, fmin(latest, span->end), span);
    if (parts.transfer > 0)
        write_slice(s, thread, segment_names[SEGMENT_TRANSFER], latest, span->end, span);
}

static void write_slices(const struct scene *s, const struct matched_collectives *meetings)
{
    for (int rank = 0; rank < s->line->ranks; rank++) {
        int n = 0;
        for (int i = 0; i < s->line->count; i++) {
            const struct span *span = &s->line->spans[index_of(s, rank, i)];
            const struct span *const *meeting = NULL;
            if (meetings->are_alike && !span_is_phase(span))
                meeting = meetings->at + (size_t)n++ * (size_t)s->line->ranks;
            if (is_within(s, span))
                write_span(s, rank, i, meeting ? arrival_at(s->line, meeting).latest : span->entered);
        }
    }
}

/* Where in a rank's part of a meeting an arrow may end at `time` or soon after; false where there is no such place. */
struct mooring {
    int thread;
    double time;
};

static bool moor(const struct scene *s, const struct span *span, int rank, double time, struct mooring *mooring)
{
    double at = fmax(time, span->entered);
    if (nanoseconds(s, at) < nanoseconds(s, span->end)) {
        *mooring = (struct mooring){ thread_of(s, rank, 0), at };
        return true;
    }
    /* It had arrived before the rank looked, or nothing was left to do when the last one came. */
    size_t index = (size_t)(span - s->line->spans);
    at = fmax(time, span->start);
    *mooring = (struct mooring){ thread_of(s, rank, s->beside[index]), at };
    return was_started(span) && nanoseconds(s, at) < nanoseconds(s, span->entered);
}

/* From the last rank to all others; from the first of the latest where several came together, and from rank 0 where nobody
 * knows. */
static int source_of(const struct timeline *t, const struct span *const *meeting, double latest)
{
    for (int rank = 0; rank < t->ranks && !t->hides_arrivals; rank++)
        if (meeting[rank]->start >= latest)
            return rank;
    return 0;
}

static void write_flows(const struct scene *s, const struct span *const *meeting)
{
    const struct timeline *t = s->line;
    struct arrival arrival = arrival_at(t, meeting);
    int source = source_of(t, meeting, arrival.latest);
    const struct span *last = meeting[source];
    struct mooring from, to;
    /* A started one left its rank in the lane beside it. */
    if (was_started(last))
        from = (struct mooring){ thread_of(s, source, s->beside[last - t->spans]), last->start };
    else if (!moor(s, last, source, last->start, &from))
        return;
    double since = t->hides_arrivals ? from.time : arrival.latest;
    for (int rank = 0; rank < t->ranks; rank++) {
        if (rank == source || !moor(s, meeting[rank], rank, since, &to))
            continue;
        /* Who never stood still for what it had started waited for nobody, and of some it cannot be told. */
        const struct parts parts = parts_of(t, meeting[rank], arrival.latest);
        bool has_waited =
            parts.wait > 0 || meeting[rank]->entered >= arrival.latest; /* and not below the clocks' error */
        bool is_late = arrival.last >= 0 && to.thread == thread_of(s, rank, 0) && parts.is_known && has_waited;
        const char *name = is_late ? "the last arrives" : "they meet";
        int id = ++s->trace->flows;
        write_flow_end(s, 's', from.thread, name, id, from.time);
        write_flow_end(s, 'f', to.thread, name, id, to.time);
    }
}

/* The steps that are kept: all, or as many as may be around the typical one. */
static void choose_window(struct scene *s, const struct outcome *o, int cases)
{
    const struct timeline *t = s->line;
    double spans = 0;
    int last = -1;
    s->begin = INT_MAX;
    for (int i = 0; i < t->ranks * t->count; i++) {
        int step = t->spans[i].step;
        if (step < 0)
            continue;
        spans++;
        s->begin = step < s->begin ? step : s->begin;
        last = step > last ? step : last;
    }
    s->all = last < 0 ? 0 : last - s->begin + 1;
    /* A collective may have five events: on its lane and beside it, two parts, an arrow's ends. */
    double most = TRACE_EVENTS_MOST / (double)cases / (3 * spans / s->all);
    s->steps = most < 1 ? 1 : most < TRACE_STEPS_MOST ? (int)most : TRACE_STEPS_MOST;
    s->steps = s->steps < s->all ? s->steps : s->all;
    int left_out = s->all - s->steps, before = report_typical_step(o) - s->steps / 2 - s->begin;
    s->first = s->begin + (before < 0 ? 0 : before > left_out ? left_out : before);
}

/* Returns the steps that are kept; 0 when that is all. */
static int write_case(struct trace *trace, const struct outcome *o, int process, int cases)
{
    const struct timeline *t = &o->picture;
    struct scene s = { .trace = trace, .line = t, .process = process, .before = trace->threads + 1 };
    choose_window(&s, o, cases);
    s.origin = INFINITY;
    for (int i = 0; i < t->ranks * t->count; i++)
        if (is_within(&s, &t->spans[i]))
            s.origin = fmin(s.origin, t->spans[i].start);
    deal_lanes(&s);
    trace->threads += t->ranks * s.lanes;
    char *name = s.steps < s.all
                     ? memory_text("%s: steps %d to %d of %d", o->name, s.first, s.first + s.steps - 1, s.all)
                     : memory_text("%s", o->name);
    write_name(trace, "process_name", process, s.before, "name", name);
    write_name(trace, "process_labels", process, s.before, "labels", o->idea);
    write_place(trace, "process_sort_index", process, s.before, process);
    free(name);
    name_threads(&s);
    struct matched_collectives meetings = matched_collectives_find(t);
    write_slices(&s, &meetings);
    for (int n = 0; meetings.are_alike && n < meetings.count; n++) {
        const struct span *const *meeting = meetings.at + (size_t)n * (size_t)t->ranks;
        if (is_within(&s, meeting[0]))
            write_flows(&s, meeting);
    }
    matched_collectives_close(&meetings);
    free(s.beside);
    return s.steps < s.all ? s.steps : 0;
}

int trace_write(const struct report *report)
{
    FILE *out = file_set_begin(report->files, report->folder, "trace.json");
    struct trace trace = { .out = out };
    int kept = 0;
    fputs("{\"traceEvents\":[\n", out);
    for (int i = 0; i < report->cases; i++) {
        int steps = write_case(&trace, &report->outcomes[i], i + 1, report->cases);
        if (steps > 0 && (kept == 0 || steps < kept))
            kept = steps;
    }
    fprintf(out, "\n],\"displayTimeUnit\":\"ms\",\"otherData\":{\"lab\":\"%s\",\"backend\":\"%s\",\"platform\":",
            report->lab, report->backend);
    write_text(out, report->platform);
    fprintf(out, ",\"window\":\"of each case the first round%s\"}\n}\n",
            kept ? ", and of a long one the steps that its name tells, around the one in lanes.csv" : ", all steps");
    return kept;
}
