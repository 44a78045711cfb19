#include "collective/mpi_staging.h"

#include "base/bf16.h"
#include "base/die.h"
#include "base/hot.h"
#include "base/memory.h"
#include "base/multiversion.h"
#include "device/device.h"
#include "options/algorithm.h"
#include "world/world.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = COLLECTIVE_STARTED_MOST + 1 };

struct mpi_stagings {
    int rank, ranks;
    MPI_Op add_bf16, add_nothing;
    struct stage { /* host memory, for a device whose memory MPI cannot access */
        size_t bytes;
        void *memory;
    } stage[SLOTS];
};

void collective_begin(struct world *world, bool shares_gpus, double deadline_s)
{
    (void)world, (void)shares_gpus, (void)deadline_s;
}

const char *collective_library(void)
{
    return world_engine();
}

const char *collective_algorithm(void)
{
    return algorithm_name();
}

const char *collective_hides_arrivals(void)
{
    return NULL;
}

static WIDE void add_halves(uint16_t *restrict sum, const uint16_t *restrict x, int count)
{
    for (int i = 0; i < count; i++)
        sum[i] = bf16_round(bf16_widen(x[i]) + bf16_widen(sum[i]));
}

static void add_bf16(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    add_halves(inout, in, *count);
}

/* Add nothing: fake buffers have no contents. */
static void add_nothing(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)count, (void)type;
}

struct mpi_stagings *mpi_staging_open(int rank, int ranks)
{
    struct mpi_stagings *m = memory_new(1, sizeof *m);
    m->rank = rank;
    m->ranks = ranks;
    MPI_Op_create(add_bf16, 1, &m->add_bf16);
    MPI_Op_create(add_nothing, 1, &m->add_nothing);
    return m;
}

static void drop_stage(struct stage *stage)
{
    device_stage_free(stage->memory);
    *stage = (struct stage){ 0 };
}

void mpi_staging_close(struct mpi_stagings *m)
{
    for (int slot = 0; slot < SLOTS; slot++)
        drop_stage(&m->stage[slot]);
    MPI_Op_free(&m->add_bf16);
    MPI_Op_free(&m->add_nothing);
    free(m);
}

static void refuse_too_large(const struct collective_op *op, size_t bytes)
{
    if (op->count > INT_MAX)
        die(STATUS_WRONG, "%zu elements are too many for one %s; use at most %d", op->count, collective_names[op->kind],
            INT_MAX);
    const size_t most_simulated = (size_t)1 << 31; /* SMPI's offsets are int */
    if (bytes > most_simulated && world_is_simulated())
        die(STATUS_CANNOT, "%.1f GB are too much for one simulated %s; use messages of at most %.1f GB",
            (double)bytes / 1e9, collective_names[op->kind], (double)most_simulated / 1e9);
}

/* Elements between the beginning of the larger buffer and this rank's part of it; what a message receives lies behind what it
 * sends. */
static size_t own_part(const struct mpi_stagings *m, const struct collective_op *op)
{
    bool has_parts = op->kind == ALL_GATHER || op->kind == REDUCE_SCATTER;
    return has_parts ? (size_t)m->rank * op->count : op->kind == SEND_RECEIVE ? op->count : 0;
}

/* Let MPI work in one buffer of host memory. It has room for the larger buffer of the operation, or for both of a message. Of a
 * fake buffer nothing is copied. */
static void use_buffer(struct mpi_stagings *m, struct mpi_staging *message, const struct collective_op *op,
                       void *buffer, bool is_fake)
{
    size_t own = own_part(m, op) * type_bytes(op->type);
    char *begin = buffer, *sent = op->kind == ALL_GATHER ? begin + own : begin;
    if (!is_fake && op_sends(op, m->rank))
        device_fetch(sent, op->send, op_send_bytes(op, m->ranks));
    message->receive = op->kind == SEND_RECEIVE ? begin + own : begin;
    message->send = op->kind == SEND_RECEIVE || op->kind == BROADCAST ? begin : MPI_IN_PLACE;
    message->result = is_fake ? NULL : message->receive;
}

/* device_wait() waits until the stage's previous result has left it. */
static void *stage_for(struct stage *stage, size_t bytes)
{
    if (bytes > stage->bytes) {
        device_wait();
        drop_stage(stage);
        *stage = (struct stage){ bytes, device_stage_new(MEMORY_COMMUNICATION, bytes) };
    }
    return stage->memory;
}

/* MPI works in place in other buffers than collective.h: a broadcast has one buffer, and a reduce-scatter leaves its result at the
 * beginning. */
HOT static void use_memory(struct mpi_stagings *m, struct mpi_staging *message, const struct collective_op *op)
{
    message->receive = op->receive;
    message->send = op->send;
    if (op->kind == BROADCAST && op->from == m->rank) {
        message->receive = (void *)(uintptr_t)op->send; /* MPI only reads it on this rank */
        message->result = op->send == op->receive ? NULL : op->send;
    } else if (op_is_in_place(op, m->rank)) {
        message->send = MPI_IN_PLACE;
        if (op->kind == REDUCE_SCATTER) {
            message->receive = (void *)(uintptr_t)op->send; /* in place, so it may be written */
            message->result = m->rank > 0 ? op->send : NULL;
        }
    }
}

HOT void mpi_staging_begin(struct mpi_stagings *m, int slot, const struct operation *operation,
                           struct mpi_staging *message)
{
    const struct collective_op *op = &operation->op;
    size_t bytes = operation->call.bytes * (op->kind == SEND_RECEIVE ? 2 : 1);
    refuse_too_large(op, bytes);
    bool is_f32 = op->type == TYPE_F32;
    *message = (struct mpi_staging){ .kind = op->kind,
                                     .count = (int)op->count,
                                     .type = is_f32 ? MPI_FLOAT : MPI_UINT16_T,
                                     .add = is_f32 ? MPI_SUM : m->add_bf16,
                                     .to = op->to >= 0 ? op->to : MPI_PROC_NULL,
                                     .from = op->from >= 0 ? op->from : MPI_PROC_NULL,
                                     .sent = op->to >= 0 ? (int)op->count : 0,
                                     .received = op->from >= 0 ? (int)op->count : 0 };
    void *fake = op->count > 0 ? device_fake_buffer(op->receive ? op->receive : op->send, bytes) : NULL;
    if (fake) {
        use_buffer(m, message, op, fake, true);
        message->send = op->kind == ALL_REDUCE ? fake : message->send;
        message->add = m->add_nothing;
    } else if (!device_is_host_accessible() && op->kind != BARRIER) {
        use_buffer(m, message, op, stage_for(&m->stage[slot], bytes), false);
    } else {
        use_memory(m, message, op);
    }
}

HOT void mpi_staging_end(struct mpi_stagings *m, const struct mpi_staging *message, const struct collective_op *op)
{
    if (!message->result || (op->kind == SEND_RECEIVE && op->from < 0))
        return;
    size_t bytes = op_receive_bytes(op, m->ranks);
    if (device_is_host_accessible())
        memmove(op->receive, message->result, bytes);
    else
        device_put_later(op->receive, message->result, bytes);
}

HOT void mpi_staging_run(const struct mpi_staging *m, MPI_Comm comm)
{
    switch (m->kind) {
    case ALL_REDUCE:
        MPI_Allreduce(m->send, m->receive, m->count, m->type, m->add, comm);
        break;
    case ALL_GATHER:
        MPI_Allgather(m->send, m->count, m->type, m->receive, m->count, m->type, comm);
        break;
    case REDUCE_SCATTER:
        MPI_Reduce_scatter_block(m->send, m->receive, m->count, m->type, m->add, comm);
        break;
    case BROADCAST:
        MPI_Bcast(m->receive, m->count, m->type, m->from, comm);
        break;
    case SEND_RECEIVE:
        MPI_Sendrecv(m->send, m->sent, m->type, m->to, 0, m->receive, m->received, m->type, m->from, 0, comm,
                     MPI_STATUS_IGNORE);
        break;
    default:
        MPI_Barrier(comm);
    }
}
