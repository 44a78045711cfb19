/* engine: collectives of one group of ranks. One source file per backend is linked: engine_mpi.c, engine_sim.c or engine_nccl.c. Its
 * caller, collective.c, numbers, stamps and checks the operations.
 *
 * Calls take their place in the device's order of work (device.h). An operation reads the results of earlier work, and later work
 * reads the operation's result. */
#ifndef LOCKSTEP_ENGINE_H
#define LOCKSTEP_ENGINE_H

#include "collective/collective.h"

#include <stdbool.h>
#include <stddef.h>

struct world;

struct operation {
    struct collective_op op;
    struct collective_call call; /* what messages show of it */
};

static inline size_t type_bytes(enum element_type type)
{
    return type == TYPE_F32 ? sizeof(float) : sizeof(uint16_t);
}

/* Bytes of a rank's send and receive buffers, and of the larger of them; of a message, of those that the rank uses. */
static inline size_t op_send_bytes(const struct collective_op *op, int ranks)
{
    size_t parts = op->kind == REDUCE_SCATTER ? (size_t)ranks : op->kind == SEND_RECEIVE ? op->to >= 0 : 1;
    return parts * op->count * type_bytes(op->type);
}

static inline size_t op_receive_bytes(const struct collective_op *op, int ranks)
{
    size_t parts = op->kind == ALL_GATHER ? (size_t)ranks : op->kind == SEND_RECEIVE ? op->from >= 0 : 1;
    return parts * op->count * type_bytes(op->type);
}

static inline size_t op_bytes(const struct collective_op *op, int ranks)
{
    size_t send = op_send_bytes(op, ranks), receive = op_receive_bytes(op, ranks);
    return send > receive ? send : receive;
}

/* True if this rank uses its send buffer. */
static inline bool op_sends(const struct collective_op *op, int rank)
{
    return op->kind == BROADCAST ? op->from == rank : op->kind == SEND_RECEIVE ? op->to >= 0 : op->kind != BARRIER;
}

/* True if this rank works in place. */
static inline bool op_is_in_place(const struct collective_op *op, int rank)
{
    size_t part = (size_t)rank * op->count * type_bytes(op->type);
    switch (op->kind) {
    case ALL_REDUCE:
    case BROADCAST:
        return op->send == op->receive;
    case ALL_GATHER:
        return op->send == (const char *)op->receive + part;
    case REDUCE_SCATTER:
        return op->receive == (const char *)op->send + part;
    default:
        return false;
    }
}

/* all of `world`, the group's ranks: open and close an engine. */
struct engine;
struct engine *engine_open(struct world *world);
void engine_close(struct engine *engine);

void engine_run(struct engine *engine, const struct operation *operation);

/* Start an operation in a free slot, 0 … COLLECTIVE_STARTED_MOST - 1. */
void engine_start(struct engine *engine, int slot, const struct operation *operation);
/* Let the started operation advance. */
void engine_progress(struct engine *engine, int slot);
/* Return when the operation is done or, on a GPU, when work handed over later will see it done. */
void engine_finish(struct engine *engine, int slot);
/* True if started operations advance without engine_progress(). */
bool engine_runs_alone(void);

#endif
