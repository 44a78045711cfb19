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

enum { SLOTS = COLLECTIVE_STARTED_MOST + 1 };

struct mpi_stagings {
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

struct mpi_stagings *mpi_staging_open(void)
{
    struct mpi_stagings *m = memory_new(1, sizeof *m);
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

static void refuse_too_large(const struct sum *sum)
{
    if (sum->count > INT_MAX)
        die(STATUS_WRONG, "%zu elements are too many for one all-reduce; use at most %d", sum->count, INT_MAX);
    const size_t most_simulated = (size_t)1 << 31; /* SMPI's offsets are int */
    if (sum_bytes(sum) > most_simulated && world_is_simulated())
        die(STATUS_CANNOT, "%.1f GB are too much for one simulated all-reduce; use messages of at most %.1f GB",
            (double)sum_bytes(sum) / 1e9, (double)most_simulated / 1e9);
}

/* Copy the terms to the host. device_wait() and device_fetch() wait until the stage's previous result has left it. */
static void stage_sum(struct stage *stage, const struct sum *sum)
{
    size_t bytes = sum_bytes(sum);
    if (bytes > stage->bytes) {
        device_wait();
        drop_stage(stage);
        *stage = (struct stage){ bytes, device_stage_new(bytes) };
    }
    device_fetch(stage->memory, sum->send, bytes);
}

HOT struct mpi_staging mpi_staging_begin(struct mpi_stagings *m, int slot, const struct sum *sum)
{
    refuse_too_large(sum);
    bool is_f32 = sum->wire == WIRE_F32;
    struct mpi_staging message = { .send = sum->send == sum->receive ? MPI_IN_PLACE : sum->send,
                                   .receive = sum->receive,
                                   .count = (int)sum->count,
                                   .type = is_f32 ? MPI_FLOAT : MPI_UINT16_T,
                                   .add = is_f32 ? MPI_SUM : m->add_bf16 };
    void *fake = device_fake_buffer(sum->receive, sum_bytes(sum));
    if (fake) {
        message.send = message.receive = fake;
        message.add = m->add_nothing;
    } else if (!device_is_host_accessible()) {
        stage_sum(&m->stage[slot], sum);
        message.send = MPI_IN_PLACE;
        message.receive = m->stage[slot].memory;
    }
    return message;
}

HOT void mpi_staging_end(struct mpi_stagings *m, int slot, const struct sum *sum)
{
    if (!device_is_host_accessible())
        device_put_later(sum->receive, m->stage[slot].memory, sum_bytes(sum));
}
