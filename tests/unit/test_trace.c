/* usage: test_trace           test trace_write() with spans written by hand
 *        test_trace FILE...   check that Perfetto can read these traces
 *
 * The rules are those of the Trace Event Format and, where the format leaves a choice, those of Perfetto. The sources are
 * listed in common/report/trace_events.h. The rules are checked on the JSON file, which an independent library parses. */
#include "base/memory.h"
#include "report/trace.h"
#include "support/hand_spans.h"
#include "support/unit.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- reading ---------------------------------------------------------------------------------------------------- */

struct slice {
    long long pid, tid, start, end; /* nanoseconds */
    size_t at;                      /* index of the event in the file */
    json_int_t sequence;            /* sequence number of a collective; -1 for a phase */
    json_int_t group;               /* 0 if it is not named */
    double sent, received;          /* bytes; -1 if they are not named */
    const char *name;
};

struct flow {
    long long id, pid, tid, time;
    size_t at;
    bool is_start;
    const char *name;
};

struct found {
    json_t *root;
    struct slice *slices; /* judge_nesting() sorts them by thread, start and depth */
    struct flow *flows;
    size_t slice_count, flow_count;
    char *wrong; /* first broken rule; NULL for none */
};

__attribute__((format(printf, 2, 3))) static void complain(struct found *f, const char *format, ...)
{
    if (f->wrong)
        return;
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    f->wrong = memory_text("%s", text);
}

static long long time_of(struct found *f, const json_t *event, const char *key, size_t at)
{
    const json_t *value = json_object_get(event, key);
    if (!json_is_number(value) || !(json_number_value(value) >= 0))
        complain(f, "event %zu: %s is no time", at, key);
    return llround(1e3 * json_number_value(value));
}

static long long integer_of(struct found *f, const json_t *event, const char *key, size_t at)
{
    const json_t *value = json_object_get(event, key);
    if (!json_is_integer(value) || json_integer_value(value) < 1) /* Perfetto takes 0 for the kernel's idle loop */
        complain(f, "event %zu: %s is no number from 1 on", at, key);
    return json_integer_value(value);
}

/* True for the categories of slices, and that of flows. */
static bool is_category(const char *category, char phase)
{
    static const char *const slices[] = { "user_annotation", "cpu_op", "kernel", NULL };
    if (phase != 'X')
        return strcmp(category, "collective") == 0;
    for (const char *const *of = slices; *of; of++)
        if (strcmp(category, *of) == 0)
            return true;
    return false;
}

static void read_event(struct found *f, const json_t *event, size_t at)
{
    const char *phase = json_string_value(json_object_get(event, "ph"));
    const char *name = json_string_value(json_object_get(event, "name"));
    if (!phase || strlen(phase) != 1 || !strchr("MXsf", *phase) || !name || !*name) {
        complain(f, "event %zu: no kind or no name", at);
        return;
    }
    long long pid = integer_of(f, event, "pid", at), tid = integer_of(f, event, "tid", at);
    if (*phase == 'M')
        return;
    long long time = time_of(f, event, "ts", at);
    const char *category = json_string_value(json_object_get(event, "cat"));
    if (!category || !is_category(category, *phase))
        complain(f, "event %zu: no category of torch.profiler's", at);
    if (*phase == 'X') {
        long long end = time + time_of(f, event, "dur", at);
        const json_t *arguments = json_object_get(event, "args"), *sequence = json_object_get(arguments, "sequence");
        if (!json_is_integer(json_object_get(arguments, "step")))
            complain(f, "event %zu: of no step", at);
        const json_t *sent = json_object_get(arguments, "sent_bytes"),
                     *received = json_object_get(arguments, "received_bytes");
        f->slices[f->slice_count++] = (struct slice){ .pid = pid,
                                                      .tid = tid,
                                                      .start = time,
                                                      .end = end,
                                                      .at = at,
                                                      .sequence = sequence ? json_integer_value(sequence) : -1,
                                                      .group = json_integer_value(json_object_get(arguments, "group")),
                                                      .sent = sent ? json_number_value(sent) : -1,
                                                      .received = received ? json_number_value(received) : -1,
                                                      .name = name };
        return;
    }
    const char *binding = json_string_value(json_object_get(event, "bp"));
    if (*phase == 'f' && (!binding || strcmp(binding, "e") != 0))
        complain(f, "event %zu: binds to what comes next", at);
    f->flows[f->flow_count++] =
        (struct flow){ integer_of(f, event, "id", at), pid, tid, time, at, *phase == 's', name };
}

static struct found open_trace(json_t *root)
{
    struct found f = { .root = root };
    const json_t *events = json_object_get(root, "traceEvents");
    const char *window = json_string_value(json_object_get(json_object_get(root, "otherData"), "window"));
    size_t count = json_array_size(events);
    f.slices = memory_new(count + 1, sizeof *f.slices);
    f.flows = memory_new(count + 1, sizeof *f.flows);
    if (count == 0)
        complain(&f, "no events");
    if (!window || !*window)
        complain(&f, "nothing says what the trace holds");
    for (size_t i = 0; i < count; i++)
        read_event(&f, json_array_get(events, i), i);
    return f;
}

static void close_trace(struct found *f)
{
    json_decref(f->root);
    free(f->slices);
    free(f->flows);
    free(f->wrong);
}

/* --- judging ---------------------------------------------------------------------------------------------------- */

/* Return the text of a metadata event, "" for a number, NULL if there is none. A `tid` of 0 matches any thread. */
static const char *metadata(const struct found *f, const char *what, const char *key, long long pid, long long tid)
{
    const json_t *events = json_object_get(f->root, "traceEvents");
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        const char *name = json_string_value(json_object_get(event, "name"));
        if (strcmp(json_string_value(json_object_get(event, "ph")), "M") != 0 || strcmp(name, what) != 0 ||
            json_integer_value(json_object_get(event, "pid")) != pid ||
            (tid && json_integer_value(json_object_get(event, "tid")) != tid))
            continue;
        const json_t *value = json_object_get(json_object_get(event, "args"), key);
        return json_is_integer(value) ? "" : json_string_value(value);
    }
    return NULL;
}

static int compare_slices(const void *a, const void *b)
{
    const struct slice *x = a, *y = b;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->end != y->end)
        return x->end > y->end ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

static void judge_nesting(struct found *f)
{
    long long *ends = memory_new(f->slice_count + 1, sizeof *ends);
    size_t depth = 0;
    qsort(f->slices, f->slice_count, sizeof *f->slices, compare_slices);
    for (size_t i = 0; i < f->slice_count; i++) {
        const struct slice *slice = &f->slices[i];
        if (i == 0 || slice->tid != slice[-1].tid)
            depth = 0;
        else if (slice->pid != slice[-1].pid)
            complain(f, "thread %lld is in two processes", slice->tid);
        while (depth > 0 && ends[depth - 1] <= slice->start)
            depth--;
        if (depth > 0 && slice->end > ends[depth - 1])
            complain(f, "event %zu, %s: leaves the slice around it by %lld ns", slice->at, slice->name,
                     slice->end - ends[depth - 1]);
        ends[depth++] = slice->end;
    }
    free(ends);
}

static void judge_names(struct found *f)
{
    for (size_t i = 0; i < f->slice_count; i++) {
        const struct slice *slice = &f->slices[i];
        if (i > 0 && slice->tid == slice[-1].tid)
            continue;
        if (!metadata(f, "process_name", "name", slice->pid, 0) ||
            !metadata(f, "process_sort_index", "sort_index", slice->pid, 0))
            complain(f, "process %lld has no name or place", slice->pid);
        if (!metadata(f, "thread_name", "name", slice->pid, slice->tid) ||
            !metadata(f, "thread_sort_index", "sort_index", slice->pid, slice->tid))
            complain(f, "thread %lld has no name or place", slice->tid);
    }
}

/* Return the innermost slice that is open at a flow event; NULL if there is none. */
static const struct slice *slice_around(const struct found *f, const struct flow *flow)
{
    const struct slice *inner = NULL;
    for (size_t i = 0; i < f->slice_count; i++) {
        const struct slice *slice = &f->slices[i];
        if (slice->tid == flow->tid && slice->pid == flow->pid && slice->start <= flow->time &&
            flow->time < slice->end && slice->at < flow->at)
            inner = slice;
    }
    return inner;
}

static void judge_flows(struct found *f)
{
    for (size_t i = 0; i < f->flow_count; i++) {
        const struct flow *flow = &f->flows[i];
        const struct slice *here = slice_around(f, flow);
        if (!here || here->sequence < 0)
            complain(f, "event %zu: an arrow's end lies in no collective", flow->at);
        /* trace_write() writes flow events in pairs. */
        const struct flow *start = flow->is_start ? flow : flow - 1, *end = start + 1;
        if ((i % 2 == 0) != flow->is_start || end >= f->flows + f->flow_count || start->id != end->id ||
            start->time > end->time || strcmp(start->name, end->name) != 0) {
            complain(f, "event %zu: an arrow does not begin once and then end once", flow->at);
            return;
        }
        if (start->id != (json_int_t)(i / 2) + 1)
            complain(f, "event %zu: number %lld is not its own", flow->at, start->id);
        if (flow->is_start || !here)
            continue;
        const struct slice *there = slice_around(f, start);
        if (there && (there->sequence != here->sequence || there->group != here->group || there->pid != here->pid ||
                      there->tid == here->tid))
            complain(f, "event %zu: an arrow links two collectives, or a rank with itself", flow->at);
        if (there && strcmp(flow->name, "last rank arrives") == 0 && there->start > here->start)
            complain(f, "event %zu: Perfetto would turn the arrow round", flow->at);
    }
}

/* Return the first broken rule, or NULL. */
static const char *judge(struct found *f)
{
    if (!f->wrong)
        judge_nesting(f);
    if (!f->wrong)
        judge_names(f);
    if (!f->wrong)
        judge_flows(f);
    return f->wrong;
}

static struct found load(const char *path)
{
    json_error_t error;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    struct found f = root ? open_trace(root) : (struct found){ 0 };
    if (!root)
        complain(&f, "line %d: %s", error.line, error.text);
    return f;
}

static int judge_files(int count, char **paths)
{
    int wrong = 0;
    for (int i = 0; i < count; i++) {
        struct found f = load(paths[i]);
        if (judge(&f)) {
            printf("%s: %s\n", paths[i], f.wrong);
            wrong++;
        }
        close_trace(&f);
    }
    return wrong > 0;
}

/* --- spans written by hand ----------------------------------------------------------------------------------------- */

static struct span meet(int step, int sequence, double start, double entered, double end)
{
    struct span span = collective_span(SPAN_BARRIER, step, sequence, start, entered, end);
    span.progressed = true;
    return span;
}

/* Write the trace of one case and read it. If not NULL, `*kept` is set to the number of steps that the trace keeps. */
static struct found traced(struct timeline line, int *kept)
{
    double *slowest = memory_new((size_t)line.steps, sizeof *slowest);
    struct outcome outcome = {
        .name = "some_ws4", .idea = "a \"quoted\" idea", .picture = line, .stats = { .every = 1, .slowest = slowest }
    };
    char folder[] = "/tmp/test_trace_XXXXXX";
    assert_non_null(mkdtemp(folder));
    struct file_set files = { 0 };
    struct report report = { .lab = "01_straggler",
                             .folder = folder,
                             .files = &files,
                             .backend = "mpi",
                             .platform = "here",
                             .outcomes = &outcome,
                             .cases = 1 };
    int left = trace_write(&report);
    file_set_commit(&files);
    if (kept)
        *kept = left;
    char *path = memory_text("%s/trace.json", folder);
    struct found f = load(path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    free(path);
    free(slowest);
    return f;
}

static void assert_right(struct found *f)
{
    if (judge(f))
        fail_msg("%s", f->wrong);
}

/* Return the n-th slice of this name on a thread; fail if there is none. */
static const struct slice *slice_of(const struct found *f, long long tid, const char *name, int n)
{
    for (size_t i = 0; i < f->slice_count; i++)
        if (f->slices[i].tid == tid && strcmp(f->slices[i].name, name) == 0 && n-- == 0)
            return &f->slices[i];
    fail_msg("thread %lld has no %s", tid, name);
    return NULL;
}

static void assert_slice(const struct found *f, long long tid, const char *name, int n, double start, double end)
{
    const struct slice *slice = slice_of(f, tid, name, n);
    assert_int_equal(slice->start, llround(1e9 * start));
    assert_int_equal(slice->end, llround(1e9 * end));
}

static void assert_arrow(const struct found *f, size_t n, long long from, long long to, double leaves, double arrives)
{
    assert_true(2 * n + 1 < f->flow_count);
    const struct flow *start = &f->flows[2 * n], *end = start + 1;
    assert_int_equal(start->tid, from);
    assert_int_equal(end->tid, to);
    assert_int_equal(start->time, llround(1e9 * leaves));
    assert_int_equal(end->time, llround(1e9 * arrives));
}

/* --- expected traces ----------------------------------------------------------------------------------------------- */

/* Rank 1 arrives at 109; rank 0 waits from 104 on, rank 2 from 106 on. The trace counts from 100. */
static const struct span late[] = {
    { .kind = SPAN_BACKWARD, .start = 100, .entered = 100, .end = 112, .sequence = -1 },
    { .kind = SPAN_BARRIER, .start = 104, .entered = 104, .end = 111, .sequence = 7, .bytes = 8 },
    { .kind = SPAN_BACKWARD, .start = 100, .entered = 100, .end = 112, .sequence = -1 },
    { .kind = SPAN_BARRIER, .start = 109, .entered = 109, .end = 111, .sequence = 7, .bytes = 8 },
    { .kind = SPAN_BACKWARD, .start = 100, .entered = 100, .end = 112, .sequence = -1 },
    { .kind = SPAN_BARRIER, .start = 106, .entered = 106, .end = 112, .sequence = 7, .bytes = 8 },
};
static const struct timeline late_line = { .ranks = 3, .steps = 1, .count = 2, .spans = late };

TEST(the_last_rank_points_at_those_that_waited)
{
    struct found f = traced(late_line, NULL);
    assert_right(&f);
    assert_slice(&f, 1, "wait", 0, 4, 9);
    assert_slice(&f, 1, "transfer", 0, 9, 11);
    assert_slice(&f, 3, "wait", 0, 6, 9);
    assert_int_equal(f.slice_count, 3 + 6 + 2 * 2); /* a step of each rank */
    assert_int_equal(f.flow_count, 2 * 2);
    assert_arrow(&f, 0, 2, 1, 9, 9);
    assert_arrow(&f, 1, 2, 3, 9, 9);
    assert_string_equal(metadata(&f, "process_name", "name", 1, 0), "some_ws4");
    assert_string_equal(metadata(&f, "process_labels", "labels", 1, 0), "a \"quoted\" idea");
    assert_string_equal(metadata(&f, "thread_name", "name", 1, 3), "rank 2");
    close_trace(&f);
}

/* Queries find steps, phases and collectives under the names that torch.profiler gives them. */
TEST(names_are_those_of_the_profiler)
{
    struct span spans[] = { phase(SPAN_FORWARD, 2, 0, 10),  phase(SPAN_BACKWARD, 2, 10, 40), meet(2, 0, 20, 20, 30),
                            phase(SPAN_FORWARD, 3, 40, 55), phase(SPAN_BACKWARD, 3, 55, 90), meet(3, 1, 60, 60, 80) };
    struct found f =
        traced((struct timeline){ .ranks = 1, .steps = 1, .first_step = 3, .count = 6, .spans = spans }, NULL);
    assert_right(&f);
    assert_slice(&f, 1, "ProfilerStep#2", 0, 0, 40);
    assert_slice(&f, 1, "ProfilerStep#3", 0, 40, 90);
    assert_slice(&f, 1, "forward", 1, 40, 55);
    assert_slice(&f, 1, "mpi:barrier", 1, 60, 80);
    const json_t *events = json_object_get(f.root, "traceEvents");
    for (size_t i = 0; i < f.slice_count; i++) {
        const json_t *arguments = json_object_get(json_array_get(events, f.slices[i].at), "args");
        assert_true(json_is_true(json_object_get(arguments, "measured")) == (f.slices[i].start >= 40000000000));
    }
    close_trace(&f);
}

TEST(where_arrivals_are_hidden_rank_0_points)
{
    struct timeline line = late_line;
    line.hides_arrivals = true;
    struct found f = traced(line, NULL);
    assert_right(&f);
    assert_int_equal(f.slice_count, 3 + 6); /* no wait slices: arrivals are unknown */
    assert_int_equal(f.flow_count, 2 * 2);
    assert_arrow(&f, 0, 1, 2, 4, 9);
    assert_arrow(&f, 1, 1, 3, 4, 6);
    close_trace(&f);
}

TEST(of_two_that_tie_the_first_points)
{
    struct span spans[6];
    memcpy(spans, late, sizeof spans);
    spans[5].start = spans[5].entered = 109;
    struct timeline line = late_line;
    line.spans = spans;
    struct found f = traced(line, NULL);
    assert_right(&f);
    assert_arrow(&f, 0, 2, 1, 9, 9);
    assert_arrow(&f, 1, 2, 3, 9, 9);
    close_trace(&f);
}

/* Two nonblocking collectives overlap. Rank 1 starts both later, and rank 0 waits in the second. */
TEST(started_collectives_lie_beside_their_rank)
{
    struct span spans[] = {
        phase(SPAN_BACKWARD, 0, 0, 40), meet(0, 0, 10, 24, 30), meet(0, 1, 20, 31, 39),
        phase(SPAN_BACKWARD, 0, 0, 40), meet(0, 0, 12, 28, 30), meet(0, 1, 35, 36, 38),
    };
    struct found f = traced((struct timeline){ .ranks = 2, .steps = 1, .count = 3, .spans = spans }, NULL);
    assert_right(&f);
    /* Threads 1 to 3 are rank 0 and its two lanes of travelling collectives, threads 4 to 6 those of rank 1. */
    assert_slice(&f, 1, "mpi:barrier", 0, 24, 30);
    assert_slice(&f, 1, "mpi:barrier", 1, 31, 39);
    assert_slice(&f, 1, "wait", 0, 31, 35);
    assert_slice(&f, 2, "mpi:barrier", 0, 10, 24);
    assert_slice(&f, 3, "mpi:barrier", 0, 20, 31);
    assert_slice(&f, 5, "mpi:barrier", 0, 12, 28);
    assert_string_equal(metadata(&f, "thread_name", "name", 1, 6), "rank 1, in transit");
    assert_int_equal(f.flow_count, 2 * 2);
    assert_arrow(&f, 0, 5, 1, 12, 24); /* rank 0 enters at 24, after the start of rank 1 */
    assert_arrow(&f, 1, 5, 1, 35, 35);
    close_trace(&f);
}

/* Check a collective that is finished when its rank enters it. Its slice is empty, so the arrow ends on the travel lane. */
TEST(a_hidden_collective_is_linked_where_it_travels)
{
    struct span spans[] = { phase(SPAN_BACKWARD, 0, 0, 40), meet(0, 0, 10, 24, 24), phase(SPAN_BACKWARD, 0, 0, 40),
                            meet(0, 0, 12, 28, 28) };
    struct found f = traced((struct timeline){ .ranks = 2, .steps = 1, .count = 2, .spans = spans }, NULL);
    assert_right(&f);
    assert_string_equal(f.flows[0].name, "collective"); /* no rank waited */
    assert_arrow(&f, 0, 4, 2, 12, 12);
    close_trace(&f);
}

/* Check a collective that rank 0 entered without progress calls before rank 1 started it: its wait is unknown. */
TEST(what_may_be_waiting_is_not_reported_as_such)
{
    struct span spans[] = { phase(SPAN_BACKWARD, 0, 0, 40), meet(0, 0, 10, 14, 30), phase(SPAN_BACKWARD, 0, 0, 40),
                            meet(0, 0, 20, 28, 30) };
    spans[1].progressed = false;
    struct found f = traced((struct timeline){ .ranks = 2, .steps = 1, .count = 2, .spans = spans }, NULL);
    assert_right(&f);
    assert_int_equal(f.slice_count, 2 + 2 + 2 + 2);
    assert_string_equal(f.flows[0].name, "collective");
    assert_arrow(&f, 0, 4, 1, 20, 20);
    close_trace(&f);
}

static struct span call(enum span_kind kind, int group, int to, int from, double start, double end)
{
    struct span span = meet(0, 7, start, start, end);
    span.kind = (uint8_t)kind;
    span.group = (int16_t)group;
    span.to = (int16_t)to;
    span.from = (int16_t)from;
    return span;
}

static void assert_traffic(const struct slice *slice, int group, double sent, double received)
{
    assert_int_equal(slice->group, group);
    if (fabs(slice->sent - sent) > 0 || fabs(slice->received - received) > 0)
        fail_msg("%g bytes sent and %g received, not %g and %g", slice->sent, slice->received, sent, received);
}

/* Ranks 0 and 2 are group 1, ranks 1 and 3 group 2. Both all-reduces have number 7. */
TEST(arrows_stay_within_a_group)
{
    struct span spans[] = { phase(SPAN_BACKWARD, 0, 0, 40), call(SPAN_ALL_REDUCE, 1, -1, -1, 10, 22),
                            phase(SPAN_BACKWARD, 0, 0, 40), call(SPAN_ALL_REDUCE, 2, -1, -1, 16, 19),
                            phase(SPAN_BACKWARD, 0, 0, 40), call(SPAN_ALL_REDUCE, 1, -1, -1, 20, 22),
                            phase(SPAN_BACKWARD, 0, 0, 40), call(SPAN_ALL_REDUCE, 2, -1, -1, 12, 18) };
    struct timeline line = { .ranks = 4, .steps = 1, .count = 2, .spans = spans };
    struct found f = traced(line, NULL);
    assert_right(&f);
    assert_slice(&f, 1, "wait", 0, 10, 20);
    assert_slice(&f, 4, "wait", 0, 12, 16);
    assert_int_equal(f.flow_count, 2 * 2);
    assert_arrow(&f, 0, 3, 1, 20, 20);
    assert_arrow(&f, 1, 2, 4, 16, 16);
    assert_traffic(slice_of(&f, 1, "mpi:all_reduce", 0), 1, 8, 8); /* 2 (n - 1) / n x 8 bytes, of n = 2 */
    assert_traffic(slice_of(&f, 2, "mpi:all_reduce", 0), 2, 8, 8);
    assert_traffic(slice_of(&f, 1, "backward", 0), 0, -1, -1);
    close_trace(&f);
    line.hides_arrivals = true; /* the first rank of each group points */
    f = traced(line, NULL);
    assert_right(&f);
    assert_arrow(&f, 0, 1, 3, 10, 20);
    assert_arrow(&f, 1, 2, 4, 16, 16);
    close_trace(&f);
}

/* Rank 1 is the root; rank 2 comes after it and does not wait. */
TEST(a_root_points_at_all_ranks)
{
    struct span spans[] = { phase(SPAN_BACKWARD, 0, 0, 40), call(SPAN_BROADCAST, 0, -1, 1, 10, 24),
                            phase(SPAN_BACKWARD, 0, 0, 40), call(SPAN_BROADCAST, 0, -1, -1, 20, 23),
                            phase(SPAN_BACKWARD, 0, 0, 40), call(SPAN_BROADCAST, 0, -1, 1, 30, 31) };
    struct timeline line = { .ranks = 3, .steps = 1, .count = 2, .spans = spans };
    struct found f = traced(line, NULL);
    assert_right(&f);
    assert_slice(&f, 1, "wait", 0, 10, 20);
    assert_int_equal(f.slice_count, 3 + 6 + 2);
    assert_int_equal(f.flow_count, 2 * 2);
    assert_arrow(&f, 0, 2, 1, 20, 20);
    assert_arrow(&f, 1, 2, 3, 20, 30);
    assert_string_equal(f.flows[0].name, "last rank arrives");
    assert_string_equal(f.flows[2].name, "collective");
    assert_traffic(slice_of(&f, 2, "mpi:broadcast", 0), 0, 8, 0);
    assert_traffic(slice_of(&f, 3, "mpi:broadcast", 0), 0, 0, 8);
    close_trace(&f);
    line.hides_peers = true;
    f = traced(line, NULL);
    assert_right(&f);
    assert_int_equal(f.slice_count, 3 + 6);
    assert_int_equal(f.flow_count, 0);
    assert_traffic(slice_of(&f, 2, "mpi:broadcast", 0), 0, -1, -1);
    close_trace(&f);
}

/* Rank 0 sends to rank 1, which sends to rank 2. */
TEST(arrows_follow_messages)
{
    struct span spans[] = { phase(SPAN_BACKWARD, 0, 0, 40), call(SPAN_SEND_RECEIVE, 0, 1, -1, 20, 22),
                            phase(SPAN_BACKWARD, 0, 0, 40), call(SPAN_SEND_RECEIVE, 0, 2, 0, 12, 24),
                            phase(SPAN_BACKWARD, 0, 0, 40), call(SPAN_SEND_RECEIVE, 0, -1, 1, 10, 15) };
    struct found f = traced((struct timeline){ .ranks = 3, .steps = 1, .count = 2, .spans = spans }, NULL);
    assert_right(&f);
    assert_slice(&f, 2, "wait", 0, 12, 20);
    assert_slice(&f, 3, "wait", 0, 10, 12);
    assert_int_equal(f.flow_count, 2 * 2);
    assert_arrow(&f, 0, 1, 2, 20, 20);
    assert_arrow(&f, 1, 2, 3, 12, 12);
    assert_traffic(slice_of(&f, 1, "mpi:send_receive", 0), 0, 8, 0);
    assert_traffic(slice_of(&f, 2, "mpi:send_receive", 0), 0, 8, 8);
    assert_traffic(slice_of(&f, 3, "mpi:send_receive", 0), 0, 0, 8);
    close_trace(&f);
}

TEST(one_rank_has_no_arrows)
{
    struct found f = traced((struct timeline){ .ranks = 1, .steps = 1, .count = 2, .spans = late }, NULL);
    assert_right(&f);
    assert_int_equal(f.slice_count, 1 + 2);
    assert_int_equal(f.flow_count, 0);
    close_trace(&f);
}

TEST(ranks_that_made_other_calls_are_not_linked)
{
    struct span spans[6];
    memcpy(spans, late, sizeof spans);
    spans[3].bytes = 16;
    struct timeline line = late_line;
    line.spans = spans;
    struct found f = traced(line, NULL);
    assert_right(&f);
    assert_int_equal(f.slice_count, 3 + 6);
    assert_int_equal(f.flow_count, 0);
    close_trace(&f);
}

/* Return a timeline of steps of 1/3 ms, a million seconds after the origin of the clock, to provoke rounding errors. */
static struct timeline long_line(int ranks, int steps, struct span **spans)
{
    *spans = memory_new((size_t)(3 * ranks * steps), sizeof **spans);
    struct span *at = *spans;
    for (int rank = 0; rank < ranks; rank++)
        for (int step = 0; step < steps; step++) {
            double begin = 1e6 + step * 1e-3 / 3, end = 1e6 + (step + 1) * 1e-3 / 3;
            double met = begin + 1e-4 + 1e-7 * rank / 3;
            *at++ = phase(SPAN_FORWARD, step, begin, met);
            *at++ = phase(SPAN_BACKWARD, step, met, end);
            *at++ = meet(step, step, met, met, end);
        }
    return (
        struct timeline){ .ranks = ranks, .first_step = 2, .steps = steps - 2, .count = 3 * steps, .spans = *spans };
}

TEST(a_long_run_keeps_a_window_and_says_so)
{
    struct span *spans;
    int kept;
    struct found f = traced(long_line(2, 3000, &spans), &kept);
    assert_right(&f);
    assert_int_equal(kept, TRACE_STEPS_MOST);
    assert_string_equal(metadata(&f, "process_name", "name", 1, 0), "some_ws4: steps 0 to 31 of 3000");
    assert_non_null(strstr(json_string_value(json_object_get(json_object_get(f.root, "otherData"), "window")), "long"));
    assert_slice(&f, 1, "forward", 0, 0, 1e-4);
    close_trace(&f);
    free(spans);

    f = traced(long_line(2, TRACE_STEPS_MOST, &spans), &kept);
    assert_right(&f);
    assert_int_equal(kept, 0);
    assert_string_equal(metadata(&f, "process_name", "name", 1, 0), "some_ws4");
    close_trace(&f);
    free(spans);
}

/* Number steps from 100000 on, as in a user's job that was recorded from the middle on. */
TEST(steps_count_from_the_first_that_was_recorded)
{
    enum { BEGIN = 100000, STEPS = 3000 };
    struct span *spans;
    int kept;
    struct timeline line = long_line(2, STEPS, &spans);
    for (int i = 0; i < line.ranks * line.count; i++)
        spans[i].step += BEGIN;
    line.first_step += BEGIN;
    struct found f = traced(line, &kept);
    assert_right(&f);
    assert_int_equal(kept, TRACE_STEPS_MOST);
    assert_string_equal(metadata(&f, "process_name", "name", 1, 0), "some_ws4: steps 100000 to 100031 of 3000");
    assert_true(f.slice_count + f.flow_count <= TRACE_EVENTS_MOST);
    close_trace(&f);
    free(spans);
}

TEST(many_ranks_keep_a_shorter_one)
{
    struct span *spans;
    int kept;
    struct timeline line = long_line(1024, 40, &spans);
    struct found f = traced(line, &kept); /* judge_flows() would take too long: each flow searches all slices */
    assert_true(kept > 0 && kept < TRACE_STEPS_MOST);
    assert_true(f.slice_count + f.flow_count <= TRACE_EVENTS_MOST);
    assert_null(f.wrong);
    judge_nesting(&f);
    assert_null(f.wrong);
    close_trace(&f);
    free(spans);
}

/* Let each rank wait for sums that it started: six events each. */
TEST(many_started_sums_keep_a_shorter_one)
{
    enum { RANKS = 256, STEPS = 40, SUMS = 7, COUNT = STEPS * (1 + SUMS) };
    struct span *spans = memory_new((size_t)(RANKS * COUNT), sizeof *spans), *at = spans;
    for (int rank = 0; rank < RANKS; rank++)
        for (int step = 0; step < STEPS; step++) {
            const double begin = step, came = begin + 0.1 + 1e-4 * rank;
            *at++ = phase(SPAN_BACKWARD, step, begin, begin + 1);
            for (int i = 0; i < SUMS; i++)
                *at++ = meet(step, SUMS * step + i, came, came + 0.01 + 0.1 * i, begin + 0.2 + 0.1 * i);
        }
    int kept;
    struct timeline line = { .ranks = RANKS, .first_step = 2, .steps = STEPS - 2, .count = COUNT, .spans = spans };
    struct found f = traced(line, &kept);
    assert_true(kept > 0 && kept < TRACE_STEPS_MOST);
    assert_true(f.slice_count + f.flow_count <= TRACE_EVENTS_MOST);
    assert_true(f.slice_count > (size_t)(RANKS * kept * 2 * SUMS)); /* they do have that many */
    close_trace(&f);
    free(spans);
}

/* --- broken traces ------------------------------------------------------------------------------------------------- */

/* Break one event of a correct trace. Return true if judge() reports `text`. */
static bool is_refused(const char *phase, int n, const char *key, json_t *value, const char *text)
{
    struct found f = traced(late_line, NULL);
    const json_t *events = json_object_get(f.root, "traceEvents");
    for (size_t i = 0; i < json_array_size(events); i++) {
        json_t *event = json_array_get(events, i);
        if (strcmp(json_string_value(json_object_get(event, "ph")), phase) == 0 && n-- == 0)
            assert_int_equal(value ? json_object_set_new(event, key, value) : json_object_del(event, key), 0);
    }
    assert_true(n < 0);
    struct found broken = open_trace(json_incref(f.root));
    const char *wrong = judge(&broken);
    bool is_reported = wrong && strstr(wrong, text);
    if (!is_reported)
        print_error("%s of the %s: %s, not %s\n", key, phase, wrong ? wrong : "is right", text);
    close_trace(&broken);
    close_trace(&f);
    return is_reported;
}

TEST(a_broken_trace_is_noticed)
{
    assert_true(is_refused("X", 0, "ts", json_real(-1), "ts is no time"));
    assert_true(is_refused("X", 0, "dur", NULL, "dur is no time"));
    assert_true(is_refused("X", 4, "dur", json_real(8.001e6), "leaves the slice around it"));
    assert_true(is_refused("X", 1, "tid", json_integer(0), "tid is no number from 1 on"));
    assert_true(is_refused("X", 1, "tid", json_integer(9), "thread 9 has no name"));
    assert_true(is_refused("X", 1, "pid", json_integer(2), "is in two processes"));
    assert_true(is_refused("M", 0, "name", json_string("no_name"), "process 1 has no name"));
    assert_true(is_refused("s", 0, "ts", json_real(3e6), "lies in no collective"));
    assert_true(is_refused("s", 0, "id", json_integer(9), "begin once and then end once"));
    assert_true(is_refused("f", 1, "ts", json_real(8e6), "begin once and then end once"));
    assert_true(is_refused("f", 1, "ts", json_real(12e6), "lies in no collective"));
    assert_true(is_refused("f", 1, "tid", json_integer(2), "a rank with itself"));
    assert_true(is_refused("f", 0, "bp", NULL, "binds to what comes next"));
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return judge_files(argc - 1, argv + 1);
    return unit_run(NULL);
}
