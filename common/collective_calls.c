/* What every MPI does alike, a simulated one too. */
#include "collective.h"
#include "collective_mpi.h"

#include "bf16.h"
#include "device.h"
#include "die.h"
#include "memory.h"
#include "spans.h"
#include "world.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CHECKED_MOST = 512 }; /* elements of a checked sum that are compared */

struct started {
    struct span *span;
    enum wire wire; /* and what is summed */
    const void *send;
    void *receive;
    size_t count;
    bool progressed;
    bool is_open;
};

struct collective {
    struct world *world;
    struct spans *spans;
    struct engine *engine;
    MPI_Op add_bf16, add_blank;
    int sequence;
    int checking, wrong;
    struct started started[COLLECTIVE_STARTED_MOST];
};

static void add_bf16(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    const uint16_t *a = in;
    uint16_t *b = inout;
    for (int i = 0; i < *count; i++)
        b[i] = bf16_round(bf16_widen(a[i]) + bf16_widen(b[i]));
}

/* Of what means nothing. */
static void add_blank(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)count, (void)type;
}

struct collective *collective_open(struct world *world, struct spans *spans)
{
    struct collective *c = memory_new(1, sizeof *c);
    c->world = world;
    c->spans = spans;
    c->engine = engine_open(world);
    MPI_Op_create(add_bf16, 1, &c->add_bf16);
    MPI_Op_create(add_blank, 1, &c->add_blank);
    return c;
}

void collective_close(struct collective *c)
{
    engine_close(c->engine);
    MPI_Op_free(&c->add_bf16);
    MPI_Op_free(&c->add_blank);
    free(c);
}

static size_t bytes_of(enum wire wire, size_t count)
{
    return count * (wire == WIRE_F32 ? sizeof(float) : sizeof(uint16_t));
}

static struct sum sum_of(const struct collective *c, enum wire wire, const void *send, void *receive, size_t count)
{
    if (count > INT_MAX)
        die(STATUS_WRONG, "%zu elements are too many for one all-reduce; the most is %d", count, INT_MAX);
    const size_t most_simulated = (size_t)1 << 31; /* SMPI's offsets are int */
    if (world_is_simulated() && bytes_of(wire, count) > most_simulated)
        die(STATUS_CANNOT,
            "%.1f GB are too much for one simulated all-reduce; the most is %.1f GB: ask for smaller ones",
            (double)bytes_of(wire, count) / 1e9, (double)most_simulated / 1e9);
    bool is_f32 = wire == WIRE_F32;
    MPI_Op add = is_f32 ? MPI_SUM : c->add_bf16;
    void *blank = device_blank(receive, bytes_of(wire, count));
    if (blank) {
        send = receive = blank;
        add = c->add_blank;
    }
    return (struct sum){
        .send = send, .receive = receive, .count = (int)count, .type = is_f32 ? MPI_FLOAT : MPI_UINT16_T, .add = add
    };
}

static float element(enum wire wire, const void *buffer, size_t i)
{
    return wire == WIRE_F32 ? ((const float *)buffer)[i] : bf16_widen(((const uint16_t *)buffer)[i]);
}

/* Compares evenly spread elements of `receive` with sums in double precision. An n-term sum in any order is off
 * by at most (n - 1) roundings of the sum of magnitudes (Higham, Accuracy and Stability, section 4.2). */
static void check_sum(struct collective *c, enum wire wire, const void *send, const void *receive, size_t count)
{
    int ranks = c->world->size;
    size_t checked = count < CHECKED_MOST ? count : CHECKED_MOST;
    float *mine = memory_new(checked, sizeof *mine);
    float *all = memory_new(checked * (size_t)ranks, sizeof *all);
    for (size_t i = 0; i < checked; i++)
        mine[i] = element(wire, send, i * count / checked);
    MPI_Allgather(mine, (int)checked, MPI_FLOAT, all, (int)checked, MPI_FLOAT, c->world->comm);
    double unit = wire == WIRE_F32 ? FLT_EPSILON : ldexp(1.0, -7);
    for (size_t i = 0; i < checked; i++) {
        double sum = 0, magnitude = 0;
        for (int r = 0; r < ranks; r++) {
            double term = (double)all[(size_t)r * checked + i];
            sum += term;
            magnitude += fabs(term);
        }
        double got = (double)element(wire, receive, i * count / checked);
        if (!(fabs(got - sum) <= (ranks + 1) * unit * magnitude + 1e-37)) {
            c->wrong++;
            break;
        }
    }
    free(mine);
    free(all);
}

void collective_sum(struct collective *c, enum wire wire, const void *send, void *receive, size_t count)
{
    struct sum sum = sum_of(c, wire, send, receive, count);
    struct span *span = spans_collective(c->spans, SPAN_SUM, c->sequence++, bytes_of(wire, count));
    double start = world_now();
    MPI_Allreduce(sum.send, sum.receive, sum.count, sum.type, sum.add, c->world->comm);
    double end = world_now();
    if (span) {
        span->start = span->entered = start;
        span->end = end;
    }
    if (c->checking)
        check_sum(c, wire, send, receive, count);
}

int collective_start(struct collective *c, enum wire wire, const void *send, void *receive, size_t count)
{
    struct sum sum = sum_of(c, wire, send, receive, count);
    int ticket = 0;
    while (ticket < COLLECTIVE_STARTED_MOST && c->started[ticket].is_open)
        ticket++;
    if (ticket == COLLECTIVE_STARTED_MOST)
        die(STATUS_WRONG, "more than %d all-reduces started and not finished; use larger buckets", ticket);
    struct started *s = &c->started[ticket];
    *s = (struct started){ .wire = wire,
                           .send = send,
                           .receive = receive,
                           .count = count,
                           .is_open = true,
                           .progressed = engine_runs_alone() };
    s->span = spans_collective(c->spans, SPAN_SUM, c->sequence++, bytes_of(wire, count));
    if (s->span)
        s->span->start = world_now();
    engine_start(c->engine, ticket, &sum);
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
    double entered = world_now();
    engine_finish(c->engine, ticket);
    if (s->span) {
        s->span->entered = entered;
        s->span->end = world_now();
        s->span->progressed = s->progressed;
    }
    s->is_open = false;
    if (c->checking)
        check_sum(c, s->wire, s->send, s->receive, s->count);
}

void collective_barrier(struct collective *c)
{
    struct span *span = spans_collective(c->spans, SPAN_BARRIER, c->sequence++, 0);
    double start = world_now();
    MPI_Barrier(c->world->comm);
    double end = world_now();
    if (span) {
        span->start = span->entered = start;
        span->end = end;
    }
}

void collective_check(struct collective *c, int on)
{
    c->checking = on;
}

int collective_wrong(struct collective *c)
{
    int wrong = c->wrong;
    c->wrong = 0;
    return wrong;
}
