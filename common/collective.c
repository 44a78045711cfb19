#include "collective.h"

#include "bf16.h"
#include "board.h"
#include "device.h"
#include "die.h"
#include "engine.h"
#include "memory.h"
#include "spans.h"
#include "world.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { CHECKED_MOST = 4096 }; /* elements of a checked sum that are compared */

struct started {
    struct span *span;
    struct sum sum;
    bool progressed;
    bool is_open;
};

struct collective {
    struct world *world;
    struct board *board; /* of this world, */
    int ranks;           /* and its size: asked for by each call */
    struct spans *spans;
    struct engine *engine;
    int sequence;
    int checking;
    size_t checks;
    struct faults wrong;
    struct sum last; /* without elements when it was checked */
    struct started started[COLLECTIVE_STARTED_MOST];
};

struct collective *collective_open(struct world *world, struct spans *spans)
{
    struct collective *c = memory_new(1, sizeof *c);
    c->world = world;
    c->board = world_board(world);
    c->ranks = world_size(world);
    c->spans = spans;
    c->engine = engine_open(world);
    return c;
}

void collective_close(struct collective *c)
{
    engine_close(c->engine);
    free(c);
}

/* Elements first, first + stride, … of a buffer. */
struct sample {
    size_t first, stride, count;
};

/* Evenly spread; the n-th check begins with the buffer's last element, and each goes one further. */
static struct sample choose_sample(size_t elements, size_t n)
{
    size_t stride = (elements + CHECKED_MOST - 1) / CHECKED_MOST, first = (elements - 1 + n) % stride;
    return (struct sample){ .first = first, .stride = stride, .count = (elements - first + stride - 1) / stride };
}

static void take_sample(float *out, enum wire wire, const void *buffer, struct sample s)
{
    if (wire == WIRE_F32) {
        device_sample(out, (const float *)buffer + s.first, sizeof *out, s.stride, s.count);
        return;
    }
    uint16_t *narrow = memory_new(s.count, sizeof *narrow);
    device_sample(narrow, (const uint16_t *)buffer + s.first, sizeof *narrow, s.stride, s.count);
    for (size_t i = 0; i < s.count; i++)
        out[i] = bf16_widen(narrow[i]);
    free(narrow);
}

/* Compares elements of the result with sums in double precision. An n-term sum in any order is off by at most (n - 1)
 * roundings of the sum of magnitudes (Higham, Accuracy and Stability, section 4.2). */
static void check_sum(struct collective *c, const struct sum *sum)
{
    int ranks = world_size(c->world);
    c->last.count = 0;
    if (sum->count == 0)
        return;
    struct sample chosen = choose_sample(sum->count, c->checks++);
    size_t checked = chosen.count;
    float *mine = memory_new(checked, sizeof *mine), *got = memory_new(checked, sizeof *got);
    float *all = memory_new(checked * (size_t)ranks, sizeof *all);
    take_sample(mine, sum->wire, sum->send, chosen);
    take_sample(got, sum->wire, sum->receive, chosen);
    world_share(c->world, mine, checked * sizeof *mine, all);
    double unit = sum->wire == WIRE_F32 ? FLT_EPSILON : ldexp(1.0, -7);
    for (size_t i = 0; i < checked; i++) {
        double exact = 0, magnitude = 0;
        for (int r = 0; r < ranks; r++) {
            double term = (double)all[(size_t)r * checked + i];
            exact += term;
            magnitude += fabs(term);
        }
        if (!(fabs((double)got[i] - exact) <= (ranks + 1) * unit * magnitude + 1e-37)) {
            faults_add(&c->wrong, "step %d, all-reduce %d: element %zu of %zu is %g, and the ranks' terms add up to %g",
                       sum->step + 1, sum->sequence, chosen.first + i * chosen.stride, sum->count, (double)got[i],
                       exact);
            break;
        }
    }
    free(mine);
    free(got);
    free(all);
}

static int step_of(const struct collective *c)
{
    return c->spans ? c->spans->step : -1;
}

static struct sum next_sum(struct collective *c, enum wire wire, const void *send, void *receive, size_t count)
{
    return (struct sum){
        .wire = wire, .send = send, .receive = receive, .count = count, .sequence = c->sequence++, .step = step_of(c)
    };
}

/* Tells the others where this rank is. */
static void enter(const struct collective *c, int sequence, size_t bytes)
{
    board_enter(c->board,
                &(struct call){ .sequence = sequence, .ranks = c->ranks, .step = step_of(c), .bytes = bytes });
}

static void leave(const struct collective *c)
{
    board_leave(c->board);
}

void collective_sum(struct collective *c, enum wire wire, const void *send, void *receive, size_t count)
{
    struct sum sum = next_sum(c, wire, send, receive, count);
    struct span *span = spans_collective(c->spans, SPAN_ALL_REDUCE, sum.sequence, sum_bytes(&sum));
    enter(c, sum.sequence, sum_bytes(&sum));
    double start = device_moment();
    engine_sum(c->engine, &sum);
    double end = device_moment();
    leave(c);
    if (span) {
        span->start = span->entered = start;
        span->end = end;
    }
    c->last = sum;
    if (c->checking)
        check_sum(c, &sum);
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
        .is_open = true,
        .progressed = engine_runs_alone(),
    };
    s->span = spans_collective(c->spans, SPAN_ALL_REDUCE, s->sum.sequence, sum_bytes(&s->sum));
    if (s->span)
        s->span->start = device_moment();
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
    double entered = device_moment();
    engine_finish(c->engine, ticket);
    if (s->span) {
        s->span->entered = entered;
        s->span->end = device_moment();
        s->span->progressed = s->progressed;
    }
    s->is_open = false;
    leave(c);
    c->last = s->sum;
    if (c->checking)
        check_sum(c, &s->sum);
}

void collective_barrier(struct collective *c)
{
    int sequence = c->sequence++;
    struct span *span = spans_collective(c->spans, SPAN_BARRIER, sequence, 0);
    enter(c, sequence, 0);
    double start = device_moment();
    engine_barrier(c->engine, sequence, step_of(c));
    double end = device_moment();
    leave(c);
    if (span) {
        span->start = span->entered = start;
        span->end = end;
    }
}

void collective_check(struct collective *c, int on)
{
    c->checking = on;
}

void collective_check_last(struct collective *c)
{
    const struct sum last = c->last; /* which the check forgets */
    check_sum(c, &last);
}

struct faults collective_wrong(struct collective *c)
{
    struct faults wrong = c->wrong;
    c->wrong = (struct faults){ 0 };
    return wrong;
}
