#include "collective/collective.h"

#include "base/die.h"
#include "base/hot.h"
#include "base/memory.h"
#include "collective/collective_check.h"
#include "collective/engine.h"
#include "collective/group.h"
#include "collective/spans.h"
#include "device/device.h"
#include "launch/flight_recorder.h"
#include "world/world.h"

#include <stdint.h>
#include <stdlib.h>

struct started {
    struct span *span;
    struct operation operation;
    struct group *group;
    struct kept_terms kept;
    bool progressed;
    bool is_open;
};

struct collective {
    struct world *world;
    struct flight_recorder *recorder; /* of the world; every call needs it */
    struct spans *spans;
    struct group all;                 /* group 0 */
    struct group *group[GROUPS_MOST]; /* groups that this rank is in */
    int groups, numbered;             /* of this rank; of all ranks */
    int opened;                       /* world_next_number() */
    bool compares, is_apart;          /* collective_compare() is on, and has found a difference */
    allreduce_impl *way;              /* for all-reduces of floats by all ranks; NULL: the engine's */
    void *way_argument;
    enum check check;
    struct check_failures wrong;
    struct kept_terms kept; /* of the operation that runs */
    struct operation last;  /* count is 0 once it was checked */
    struct group *last_group;
    const struct kept_terms *last_kept;
    struct started started[COLLECTIVE_STARTED_MOST];
};

/* --- groups ----------------------------------------------------------------------------------------------------- */

/* all of `part`: fill in a group of the collective's world. */
static void open_group(struct group *group, int number, struct world *part, const struct world *world)
{
    *group = (struct group){ .number = number,
                             .rank = world_rank(part),
                             .ranks = world_size(part),
                             .world = part,
                             .engine = engine_open(part) };
    group->member = memory_new((size_t)group->ranks, sizeof *group->member);
    world_ranks_in(part, world, group->member);
    for (int i = 0; i < group->ranks; i++)
        group->members |= group->member[i] < 64 ? UINT64_C(1) << group->member[i] : 0;
}

static void close_group(struct group *group)
{
    engine_close(group->engine);
    free(group->member);
}

struct collective *collective_open(struct world *world, struct spans *spans)
{
    struct collective *c = memory_new(1, sizeof *c);
    c->world = world;
    c->recorder = world_recorder(world);
    c->spans = spans;
    c->opened = world_next_number(world);
    open_group(&c->all, 0, world, world);
    return c;
}

void collective_close(struct collective *c)
{
    while (c->groups > 0) {
        struct group *group = c->group[--c->groups];
        close_group(group);
        world_leave(group->world);
        free(group);
    }
    close_group(&c->all);
    collective_check_drop(&c->kept);
    for (int ticket = 0; ticket < COLLECTIVE_STARTED_MOST; ticket++)
        collective_check_drop(&c->started[ticket].kept);
    free(c);
}

struct world *collective_world(const struct collective *c)
{
    return c->world;
}

/* all: number the colors in use, from the lowest. Return the number of this rank's, and count them in `c->numbered`. */
static int number_group(struct collective *c, int color)
{
    int ranks = world_size(c->world), number = c->numbered + 1;
    int *colors = memory_new((size_t)ranks, sizeof *colors);
    world_allgather(c->world, &color, sizeof color, colors);
    for (int rank = 0; rank < ranks; rank++) {
        bool is_new = colors[rank] >= 0;
        for (int before = 0; before < rank; before++)
            is_new &= colors[before] != colors[rank];
        c->numbered += is_new;
        number += is_new && colors[rank] < color;
    }
    free(colors);
    return number;
}

const struct group *collective_split(struct collective *c, int color, int key)
{
    int number = number_group(c, color);
    struct world *world = world_split(c->world, color, key);
    if (!world)
        return NULL;
    if (c->groups == GROUPS_MOST)
        die(STATUS_WRONG, "a rank is in more than %d groups; split less often", GROUPS_MOST);
    struct group *group = memory_new(1, sizeof *group);
    open_group(group, number, world, c->world);
    c->group[c->groups++] = group;
    return group;
}

int group_rank(const struct group *group)
{
    return group->rank;
}

int group_size(const struct group *group)
{
    return group->ranks;
}

/* --- operations ------------------------------------------------------------------------------------------------- */

HOT static struct group *group_of(struct collective *c, const struct collective_op *op)
{
    return op->group ? (struct group *)(uintptr_t)op->group : &c->all; /* one of c->group, which are not const */
}

HOT static struct operation next_operation(struct collective *c, struct group *group, const struct collective_op *op)
{
    return (struct operation){ .op = *op,
                               .call = { .kind = op->kind,
                                         .opened = c->opened,
                                         .group = group->number,
                                         .members = group->members,
                                         .sequence = group->sequence++,
                                         .ranks = group->ranks,
                                         .step = c->spans ? c->spans->step : -1,
                                         .bucket = op->bucket,
                                         .bytes = op_bytes(op, group->ranks) } };
}

HOT static struct span *begin_span(struct collective *c, const struct group *group, const struct operation *operation)
{
    const struct collective_op *op = &operation->op;
    struct span *span = spans_collective(c->spans, &operation->call);
    if (span && op->to >= 0)
        span->to = (int16_t)group->member[op->to];
    if (span && op->from >= 0 && (op->kind == SEND_RECEIVE || op->from != group->rank))
        span->from = (int16_t)group->member[op->from];
    return span;
}

/* Keep the terms that the check needs. A barrier has none, and leaves those of the operation before for collective_check_last(). */
HOT static void keep_terms(const struct collective *c, struct kept_terms *kept, struct group *group,
                           const struct collective_op *op)
{
    if (op->kind == BARRIER)
        return;
    kept->sample.runs = 0;
    if (c->check == CHECK_NOTHING)
        return;
    collective_check_buffers(group, op);
    group->checks += collective_check_keep(kept, group, op, group->checks);
}

static void check_result(struct collective *c, struct group *group, const struct operation *operation,
                         const struct kept_terms *kept)
{
    collective_check_result(group, operation, kept, group->checks, &c->wrong);
    group->checks += kept->sample.runs == 0;
    c->last.op.count = 0;
}

/* Remember a finished operation that has a result; check it under CHECK_EACH. */
HOT static void operation_ended(struct collective *c, struct group *group, const struct operation *operation,
                                const struct kept_terms *kept)
{
    if (operation->op.kind == BARRIER)
        return;
    c->last = *operation;
    c->last_group = group;
    c->last_kept = kept;
    if (c->check == CHECK_EACH)
        check_result(c, group, operation, kept);
}

void collective_all_reduce_by(struct collective *c, allreduce_impl *way, void *argument)
{
    c->way = way;
    c->way_argument = argument;
}

HOT static void run_operation(struct collective *c, const struct group *group, const struct operation *operation)
{
    const struct collective_op *op = &operation->op;
    if (!c->way || op->kind != ALL_REDUCE || op->type != TYPE_F32 || group != &c->all) {
        engine_run(group->engine, operation);
        return;
    }
    if (op->send != op->receive)
        device_copy(op->receive, op->send, op->count);
    c->way(c->way_argument, op->receive, op->count);
}

/* Record a call before it is made. */
HOT static void note_call(struct collective *c, const struct collective_call *call)
{
    flight_recorder_note(c->recorder, call);
    if (c->compares && c->recorder)
        c->is_apart |= flight_recorder_disagrees(c->recorder, world_rank(c->world), call);
}

void collective_compare(struct collective *c, bool is_on)
{
    c->compares = is_on;
}

HOT void collective_run(struct collective *c, struct collective_op op)
{
    struct group *group = group_of(c, &op);
    struct operation operation = next_operation(c, group, &op);
    struct span *span = begin_span(c, group, &operation);
    keep_terms(c, &c->kept, group, &op);
    note_call(c, &operation.call);
    flight_recorder_enter(c->recorder, &operation.call);
    if (c->is_apart)
        world_stand_still(c->world);
    double start = device_record_event();
    run_operation(c, group, &operation);
    double end = device_record_event();
    flight_recorder_leave(c->recorder);
    if (span) {
        span->start = span->entered = start;
        span->end = end;
    }
    operation_ended(c, group, &operation, &c->kept);
}

int collective_start(struct collective *c, struct collective_op op)
{
    int ticket = 0;
    while (ticket < COLLECTIVE_STARTED_MOST && c->started[ticket].is_open)
        ticket++;
    if (ticket == COLLECTIVE_STARTED_MOST)
        die(STATUS_WRONG, "more than %d collectives started and not finished; use larger buckets", ticket);
    struct group *group = group_of(c, &op);
    struct started *s = &c->started[ticket];
    *s = (struct started){
        .operation = next_operation(c, group, &op),
        .group = group,
        .kept = s->kept,
        .is_open = true,
        .progressed = engine_runs_alone(),
    };
    keep_terms(c, &s->kept, group, &op);
    s->span = begin_span(c, group, &s->operation);
    if (s->span)
        s->span->start = device_record_event();
    note_call(c, &s->operation.call);
    if (!c->is_apart)
        engine_start(group->engine, ticket, &s->operation);
    return ticket;
}

void collective_only_waits(struct collective *c)
{
    for (int ticket = 0; ticket < COLLECTIVE_STARTED_MOST; ticket++)
        c->started[ticket].progressed |= c->started[ticket].is_open && !c->is_apart;
}

void collective_progress(struct collective *c)
{
    for (int ticket = 0; ticket < COLLECTIVE_STARTED_MOST; ticket++)
        if (c->started[ticket].is_open && !c->is_apart)
            engine_progress(c->started[ticket].group->engine, ticket);
    collective_only_waits(c);
}

void collective_finish(struct collective *c, int ticket)
{
    struct started *s = &c->started[ticket];
    flight_recorder_enter(c->recorder, &s->operation.call);
    if (c->is_apart)
        world_stand_still(c->world);
    double entered = device_record_event();
    engine_finish(s->group->engine, ticket);
    if (s->span) {
        s->span->entered = entered;
        s->span->end = device_record_event();
        s->span->progressed = s->progressed;
    }
    s->is_open = false;
    flight_recorder_leave(c->recorder);
    operation_ended(c, s->group, &s->operation, &s->kept);
}

/* --- checks ----------------------------------------------------------------------------------------------------- */

HOT void collective_check(struct collective *c, enum check check)
{
    c->check = check;
}

void collective_check_last(struct collective *c)
{
    const struct operation last = c->last; /* a copy: check_result() clears c->last */
    if (last.op.count > 0)
        check_result(c, c->last_group, &last, c->last_kept);
}

struct check_failures collective_wrong(struct collective *c)
{
    struct check_failures wrong = c->wrong;
    c->wrong = (struct check_failures){ 0 };
    return wrong;
}
