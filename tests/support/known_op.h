/* known_op.h: operations of collective.h with known values. It has one block of device memory with the operation's buffers and
 * guards around them, and knows the block's contents after the operation. All values are whole numbers, and all sums are exact,
 * also in bf16. On a device that computes nothing, host memory takes the place of device memory. */
#ifndef LOCKSTEP_KNOWN_OP_H
#define LOCKSTEP_KNOWN_OP_H

#include "base/bf16.h"
#include "base/memory.h"
#include "collective/collective.h"
#include "device/device.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { KNOWN_OP_RANKS = 16, KNOWN_OP_GUARD = 16, KNOWN_OP_EMPTY = -99 /* a value that no rank sends and no sum has */ };

/* The ranks of a group, by their rank in the world, and this rank among them. */
struct known_op_members {
    int rank, ranks;
    int world_rank[KNOWN_OP_RANKS];
};

struct known_op {
    struct collective_op op;
    size_t elements;       /* of the block */
    float *before, *after; /* (elements); NaN: any value */
    char *memory;
};

static inline size_t known_op_bytes(enum element_type type)
{
    return type == TYPE_F32 ? sizeof(float) : sizeof(uint16_t);
}

/* Return element i of what a rank sends, -15 to 15. Operations with different seeds have different values. */
static inline float known_op_value(int world_rank, int seed, size_t i)
{
    uint32_t mixed = ((uint32_t)i + 1) * 2654435761u ^ ((uint32_t)world_rank * 31 + (uint32_t)seed + 7) * 2246822519u;
    mixed = (mixed ^ mixed >> 15) * 2654435761u;
    return (float)((int)(mixed >> 16) % 31 - 15);
}

static inline float known_op_sum(const struct known_op_members *m, int seed, size_t i)
{
    float sum = 0;
    for (int r = 0; r < m->ranks; r++)
        sum += known_op_value(m->world_rank[r], seed, i);
    return sum;
}

/* Return element i of the result. */
static inline float known_op_result(const struct collective_op *op, const struct known_op_members *m, int seed,
                                    size_t i)
{
    switch (op->kind) {
    case ALL_REDUCE:
        return known_op_sum(m, seed, i);
    case REDUCE_SCATTER:
        return known_op_sum(m, seed, (size_t)m->rank * op->count + i);
    case ALL_GATHER:
        return known_op_value(m->world_rank[i / op->count], seed, i % op->count);
    default:
        return op->from < 0 ? KNOWN_OP_EMPTY : known_op_value(m->world_rank[op->from], seed, i);
    }
}

static inline bool known_op_can_be_in_place(const struct collective_op *op)
{
    return op->kind != SEND_RECEIVE && op->kind != BARRIER;
}

/* Copy values to the block, or compare the block with them. Return the first element that differs; -1 if there is none. */
static inline long known_op_exchange(const struct known_op *t, const float *values, bool is_put)
{
    size_t size = known_op_bytes(t->op.type);
    char *bytes = memory_new(t->elements, size);
    long differs = -1;
    if (!is_put && device_computes())
        device_fetch(bytes, t->memory, t->elements * size);
    else if (!is_put)
        memcpy(bytes, t->memory, t->elements * size);
    for (size_t i = t->elements; i-- > 0;) {
        uint16_t half = bf16_round(values[i]);
        const void *element = t->op.type == TYPE_F32 ? (const void *)&values[i] : &half;
        if (is_put)
            memcpy(bytes + i * size, element, size);
        else if (!isnan(values[i]) && memcmp(bytes + i * size, element, size) != 0)
            differs = (long)i;
    }
    if (is_put && device_computes())
        device_put(t->memory, bytes, t->elements * size);
    else if (is_put)
        memcpy(t->memory, bytes, t->elements * size);
    free(bytes);
    return differs;
}

/* Make a known operation of this one, which has no buffers yet. */
static inline struct known_op known_op_open(struct collective_op op, const struct known_op_members *m, int seed,
                                            bool in_place)
{
    const size_t count = op.count, own = (size_t)m->rank * count, all = (size_t)m->ranks * count;
    const size_t sent = op.kind == REDUCE_SCATTER ? all : count, received = op.kind == ALL_GATHER ? all : count;
    const bool is_source = op.from == m->rank, is_sent = op.kind != BROADCAST || is_source;
    size_t send = KNOWN_OP_GUARD, receive = send + sent + KNOWN_OP_GUARD;
    if (in_place) {
        receive = KNOWN_OP_GUARD + (op.kind == REDUCE_SCATTER ? own : 0);
        send = KNOWN_OP_GUARD + (op.kind == ALL_GATHER ? own : 0);
    }
    size_t end = send + sent > receive + received ? send + sent : receive + received;
    struct known_op t = { .op = op, .elements = end + KNOWN_OP_GUARD };
    t.before = memory_new(t.elements, sizeof *t.before);
    t.after = memory_new(t.elements, sizeof *t.after);
    for (size_t i = 0; i < t.elements; i++) {
        bool is_mine = is_sent && i >= send && i < send + sent;
        t.before[i] = is_mine ? known_op_value(m->world_rank[m->rank], seed, i - send) : KNOWN_OP_EMPTY;
        t.after[i] = is_mine && in_place && op.kind == REDUCE_SCATTER ? (float)NAN : t.before[i];
        if (i >= receive && i < receive + received)
            t.after[i] = known_op_result(&op, m, seed, i - receive);
    }
    size_t size = known_op_bytes(op.type);
    t.memory = device_computes() ? device_new(MEMORY_DATA, t.elements, size) : memory_new(t.elements, size);
    bool is_used = op.kind == BROADCAST ? is_source || in_place : op.kind != SEND_RECEIVE || op.to >= 0;
    t.op.send = is_used ? t.memory + send * size : NULL;
    t.op.receive = op.kind == SEND_RECEIVE && op.from < 0 ? NULL : t.memory + receive * size;
    known_op_exchange(&t, t.before, true);
    return t;
}

/* Return the first wrong element of the block after the operation; -1 if all are right. */
static inline long known_op_wrong(const struct known_op *t)
{
    return known_op_exchange(t, t->after, false);
}

static inline void known_op_close(struct known_op *t)
{
    if (device_computes())
        device_free(t->memory);
    else
        free(t->memory);
    free(t->before);
    free(t->after);
}

/* Run the operation, blocking or started. */
static inline void known_op_run(const struct known_op *t, struct collective *c, bool is_started)
{
    if (!is_started) {
        collective_run(c, t->op);
        return;
    }
    int ticket = collective_start(c, t->op);
    collective_progress(c);
    collective_finish(c, ticket);
}

/* List operations of all kinds, without buffers, in a group: broadcasts from each rank, messages round a ring and along a chain
 * with two ends. Return how many there are. */
enum { KNOWN_OPS = 6 + KNOWN_OP_RANKS };
static inline int known_op_list(struct collective_op ops[KNOWN_OPS], const struct known_op_members *m,
                                enum element_type type, size_t count)
{
    int n = 0, last = m->ranks - 1, next = m->rank < last ? m->rank + 1 : -1;
    ops[n++] = all_reduce(type, NULL, NULL, count);
    ops[n++] = all_gather(type, NULL, NULL, count);
    ops[n++] = reduce_scatter(type, NULL, NULL, count);
    for (int from = 0; from < m->ranks; from++)
        ops[n++] = broadcast(type, from, NULL, NULL, count);
    ops[n++] = send_receive(type, next < 0 ? 0 : next, NULL, m->rank > 0 ? m->rank - 1 : last, NULL, count);
    ops[n++] = send_receive(type, next, NULL, m->rank - 1, NULL, count);
    ops[n++] = barrier();
    return n;
}

#endif
