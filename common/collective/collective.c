#include "collective/collective.h"

#include "base/bf16.h"
#include "base/die.h"
#include "base/hot.h"
#include "base/memory.h"
#include "collective/engine.h"
#include "collective/spans.h"
#include "device/device.h"
#include "launch/flight_recorder.h"
#include "world/world.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Compared elements of a checked sum, in runs of adjacent ones. The terms that a step keeps then lie in a few places of memory,
 * not in thousands. */
enum { CHECKED_MOST = 4096, RUN = 256, RUNS_MOST = CHECKED_MOST / RUN };

/* Sample of a buffer: `runs` runs of `run` elements, from element `first` on. Runs begin `stride` run lengths apart. */
struct sample {
    size_t first, run, stride, runs;
};

/* Sampled terms of this rank that a sum in place overwrites. */
struct kept {
    struct sample sample; /* 0 runs: nothing was kept */
    void *terms;          /* (CHECKED_MOST) as sent; NULL before the first use */
};

struct started {
    struct span *span;
    struct sum sum;
    struct kept kept;
    bool progressed;
    bool is_open;
};

struct collective {
    struct world *world;
    struct flight_recorder *recorder; /* of the world; every call needs it */
    int ranks;                        /* size of the world, likewise */
    struct spans *spans;
    struct engine *engine;
    allreduce_impl *way; /* for blocking sums of floats; NULL: the engine's */
    void *way_argument;
    int sequence;
    enum check check;
    size_t checks;
    struct check_failures wrong;
    struct kept kept; /* of the blocking sum */
    struct sum last;  /* count is 0 once it was checked */
    const struct kept *last_kept;
    struct started started[COLLECTIVE_STARTED_MOST];
};

struct collective *collective_open(struct world *world, struct spans *spans)
{
    struct collective *c = memory_new(1, sizeof *c);
    c->world = world;
    c->recorder = world_recorder(world);
    c->ranks = world_size(world);
    c->spans = spans;
    c->engine = engine_open(world);
    return c;
}

void collective_close(struct collective *c)
{
    engine_close(c->engine);
    device_stage_free(c->kept.terms);
    for (int ticket = 0; ticket < COLLECTIVE_STARTED_MOST; ticket++)
        device_stage_free(c->started[ticket].kept.terms);
    free(c);
}

/* Choose evenly spread runs for the n-th check. The first check includes the buffer's last element; each check moves on by one
 * run. After a full cycle, runs are aligned to the buffer's beginning instead of its end, and so on in turns: this covers the
 * elements outside all runs. */
HOT static struct sample choose_sample(size_t elements, size_t n)
{
    if (elements <= CHECKED_MOST)
        return (struct sample){ .run = elements, .stride = 1, .runs = elements > 0 };
    size_t runs = elements / RUN, stride = (runs + RUNS_MOST - 1) / RUNS_MOST, first = (runs - 1 + n) % stride;
    size_t begin = n / stride % 2 ? 0 : elements % RUN;
    return (struct sample){
        .first = begin + first * RUN, .run = RUN, .stride = stride, .runs = (runs - first + stride - 1) / stride
    };
}

static size_t index_of(const struct sample *s, size_t i)
{
    return s->first + i / s->run * s->stride * s->run + i % s->run;
}

static size_t wire_size(enum wire wire)
{
    return wire == WIRE_F32 ? sizeof(float) : sizeof(uint16_t);
}

/* Convert sampled elements to floats. */
static void widen(float *out, enum wire wire, const void *elements, size_t count)
{
    if (wire == WIRE_F32)
        memcpy(out, elements, count * sizeof *out);
    for (size_t i = 0; i < count && wire == WIRE_BF16; i++)
        out[i] = bf16_widen(((const uint16_t *)elements)[i]);
}

static void take_sample(float *out, enum wire wire, const void *buffer, struct sample s)
{
    size_t size = wire_size(wire);
    void *elements = memory_new(s.run * s.runs, size);
    device_sample(elements, (const char *)buffer + s.first * size, s.run * size, s.stride, s.runs);
    widen(out, wire, elements, s.run * s.runs);
    free(elements);
}

/* Before a sum in place, keep the terms that its check needs. The copy is queued in the device's order of work. Only the first
 * call allocates, because the step may be measured. */
HOT static void keep_terms(struct collective *c, struct kept *kept, const struct sum *sum)
{
    kept->sample.runs = 0;
    if (c->check == CHECK_NOTHING || sum->send != sum->receive || sum->count == 0)
        return;
    if (!kept->terms)
        kept->terms = device_stage_new(CHECKED_MOST * sizeof(float));
    kept->sample = choose_sample(sum->count, c->checks++);
    size_t size = wire_size(sum->wire);
    device_sample_later(kept->terms, (const char *)sum->send + kept->sample.first * size, kept->sample.run * size,
                        kept->sample.stride, kept->sample.runs);
}

/* Get this rank's terms of the sampled elements; false if they are gone. */
static bool recall_terms(struct collective *c, const struct sum *sum, const struct kept *kept, struct sample *chosen,
                         float terms[CHECKED_MOST])
{
    if (sum->send != sum->receive) {
        *chosen = choose_sample(sum->count, c->checks++);
        take_sample(terms, sum->wire, sum->send, *chosen);
        return true;
    }
    *chosen = kept->sample;
    device_wait();
    if (chosen->runs > 0)
        widen(terms, sum->wire, kept->terms, chosen->run * chosen->runs);
    return chosen->runs > 0;
}

/* Compare elements of the result with sums in double precision. An n-term sum in any order is off by at most (n - 1)
 * roundings of the sum of magnitudes (Higham, Accuracy and Stability, section 4.2). */
static void check_sum(struct collective *c, const struct sum *sum, const struct kept *kept)
{
    int ranks = world_size(c->world);
    c->last.count = 0;
    if (sum->count == 0)
        return;
    float mine[CHECKED_MOST], got[CHECKED_MOST];
    struct sample chosen;
    if (!recall_terms(c, sum, kept, &chosen, mine)) {
        check_failures_add(&c->wrong,
                           "step %d, all-reduce %d: the check has no copy of the terms, which the sum overwrote",
                           sum->step + 1, sum->sequence);
        return;
    }
    size_t checked = chosen.run * chosen.runs;
    float *all = memory_new(checked * (size_t)ranks, sizeof *all);
    take_sample(got, sum->wire, sum->receive, chosen);
    world_allgather(c->world, mine, checked * sizeof *mine, all);
    double unit = sum->wire == WIRE_F32 ? FLT_EPSILON : ldexp(1.0, -7);
    for (size_t i = 0; i < checked; i++) {
        double exact = 0, magnitude = 0;
        for (int r = 0; r < ranks; r++) {
            double term = (double)all[(size_t)r * checked + i];
            exact += term;
            magnitude += fabs(term);
        }
        if (!(fabs((double)got[i] - exact) <= (ranks + 1) * unit * magnitude + 1e-37)) {
            check_failures_add(&c->wrong,
                               "step %d, all-reduce %d: element %zu of %zu is %g, but the ranks' terms add up to %g",
                               sum->step + 1, sum->sequence, index_of(&chosen, i), sum->count, (double)got[i], exact);
            break;
        }
    }
    free(all);
}

HOT static int step_of(const struct collective *c)
{
    return c->spans ? c->spans->step : -1;
}

HOT static struct sum next_sum(struct collective *c, enum wire wire, const void *send, void *receive, size_t count)
{
    return (struct sum){
        .wire = wire, .send = send, .receive = receive, .count = count, .sequence = c->sequence++, .step = step_of(c)
    };
}

/* Enter the call into the flight recorder. */
HOT static void enter(const struct collective *c, int sequence, size_t bytes)
{
    flight_recorder_enter(
        c->recorder, &(struct call){ .sequence = sequence, .ranks = c->ranks, .step = step_of(c), .bytes = bytes });
}

HOT static void leave(const struct collective *c)
{
    flight_recorder_leave(c->recorder);
}

/* Remember a finished sum; check it under CHECK_EACH. */
HOT static void sum_ended(struct collective *c, const struct sum *sum, const struct kept *kept)
{
    c->last = *sum;
    c->last_kept = kept;
    if (c->check == CHECK_EACH)
        check_sum(c, sum, kept);
}

void collective_sum_by(struct collective *c, allreduce_impl *way, void *argument)
{
    c->way = way;
    c->way_argument = argument;
}

HOT static void run_sum(struct collective *c, const struct sum *sum)
{
    if (!c->way || sum->wire != WIRE_F32) {
        engine_sum(c->engine, sum);
        return;
    }
    if (sum->send != sum->receive)
        device_copy(sum->receive, sum->send, sum->count);
    c->way(c->way_argument, sum->receive, sum->count);
}

HOT void collective_sum(struct collective *c, enum wire wire, const void *send, void *receive, size_t count)
{
    struct sum sum = next_sum(c, wire, send, receive, count);
    struct span *span = spans_collective(c->spans, SPAN_ALL_REDUCE, sum.sequence, sum_bytes(&sum));
    keep_terms(c, &c->kept, &sum);
    enter(c, sum.sequence, sum_bytes(&sum));
    double start = device_record_event();
    run_sum(c, &sum);
    double end = device_record_event();
    leave(c);
    if (span) {
        span->start = span->entered = start;
        span->end = end;
    }
    sum_ended(c, &sum, &c->kept);
}

int collective_start(struct collective *c, enum wire wire, const void *send, void *receive, size_t count)
{
    int ticket = 0;
    while (ticket < COLLECTIVE_STARTED_MOST && c->started[ticket].is_open)
        ticket++;
    if (ticket == COLLECTIVE_STARTED_MOST)
        die(STATUS_WRONG, "more than %d all-reduces started and not finished; use larger buckets", ticket);
    struct started *s = &c->started[ticket];
    *s = (struct started){
        .sum = next_sum(c, wire, send, receive, count),
        .kept = s->kept,
        .is_open = true,
        .progressed = engine_runs_alone(),
    };
    keep_terms(c, &s->kept, &s->sum);
    s->span = spans_collective(c->spans, SPAN_ALL_REDUCE, s->sum.sequence, sum_bytes(&s->sum));
    if (s->span)
        s->span->start = device_record_event();
    engine_start(c->engine, ticket, &s->sum);
    return ticket;
}

void collective_progress(struct collective *c)
{
    for (int ticket = 0; ticket < COLLECTIVE_STARTED_MOST; ticket++)
        if (c->started[ticket].is_open) {
            engine_progress(c->engine, ticket);
            c->started[ticket].progressed = true;
        }
}

void collective_finish(struct collective *c, int ticket)
{
    struct started *s = &c->started[ticket];
    enter(c, s->sum.sequence, sum_bytes(&s->sum));
    double entered = device_record_event();
    engine_finish(c->engine, ticket);
    if (s->span) {
        s->span->entered = entered;
        s->span->end = device_record_event();
        s->span->progressed = s->progressed;
    }
    s->is_open = false;
    leave(c);
    sum_ended(c, &s->sum, &s->kept);
}

void collective_barrier(struct collective *c)
{
    int sequence = c->sequence++;
    struct span *span = spans_collective(c->spans, SPAN_BARRIER, sequence, 0);
    enter(c, sequence, 0);
    double start = device_record_event();
    engine_barrier(c->engine, sequence, step_of(c));
    double end = device_record_event();
    leave(c);
    if (span) {
        span->start = span->entered = start;
        span->end = end;
    }
}

HOT void collective_check(struct collective *c, enum check check)
{
    c->check = check;
}

void collective_check_last(struct collective *c)
{
    const struct sum last = c->last; /* a copy: check_sum() clears c->last */
    check_sum(c, &last, c->last_kept);
}

struct check_failures collective_wrong(struct collective *c)
{
    struct check_failures wrong = c->wrong;
    c->wrong = (struct check_failures){ 0 };
    return wrong;
}
