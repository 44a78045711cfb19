#include "collective/p2p.h"

#include "base/die.h"
#include "base/memory.h"
#include "device/device.h"
#include "world/world.h"
#include "world/world_mpi.h"

#include <limits.h>
#include <stdlib.h>

struct p2p {
    struct world *world;
    struct traffic traffic;
    struct stage { /* host memory, for a device whose memory MPI cannot access */
        size_t bytes;
        void *memory;
    } out, in;
};

struct p2p *p2p_open(struct world *world)
{
    struct p2p *p2p = memory_new(1, sizeof *p2p);
    p2p->world = world;
    return p2p;
}

void p2p_close(struct p2p *p2p)
{
    device_stage_free(p2p->out.memory);
    device_stage_free(p2p->in.memory);
    free(p2p);
}

int p2p_rank(const struct p2p *p2p)
{
    return world_rank(p2p->world);
}

int p2p_count(const struct p2p *p2p)
{
    return world_size(p2p->world);
}

/* Return the memory that MPI reads or writes in place of `floats`; NULL if MPI takes `floats`. device_wait() lets the stage's
 * previous contents leave it. */
static void *buffer_for_mpi(struct stage *stage, const float *floats, size_t count)
{
    size_t bytes = count * sizeof *floats;
    if (count > INT_MAX)
        die(STATUS_WRONG, "%zu floats are too many for one message; use at most %d", count, INT_MAX);
    if (count == 0)
        return NULL;
    if (device_is_host_accessible())
        return device_fake_buffer(floats, bytes);
    device_wait();
    if (bytes > stage->bytes) {
        device_stage_free(stage->memory);
        *stage = (struct stage){ bytes, device_stage_new(MEMORY_COMMUNICATION, bytes) };
    }
    return stage->memory;
}

void p2p_pass(struct p2p *p2p, int to, const float *send, size_t sent, int from, float *receive, size_t received)
{
    void *out = buffer_for_mpi(&p2p->out, send, sent), *in = buffer_for_mpi(&p2p->in, receive, received);
    if (device_is_host_accessible() && out && in) {
        /* one fake buffer serves both; MPI wants buffers that do not overlap */
        out = device_fake_buffer(send, (sent + received) * sizeof *send);
        in = (float *)out + sent;
    }
    if (!device_is_host_accessible() && sent > 0)
        device_fetch(out, send, sent * sizeof *send);
    MPI_Sendrecv(out ? out : send, (int)sent, MPI_FLOAT, sent > 0 ? to : MPI_PROC_NULL, 0, in ? in : receive,
                 (int)received, MPI_FLOAT, received > 0 ? from : MPI_PROC_NULL, 0, p2p->world->comm, MPI_STATUS_IGNORE);
    if (!device_is_host_accessible() && received > 0)
        device_put_later(receive, in, received * sizeof *receive);
    p2p->traffic.sent_bytes += (double)(sent * sizeof *send);
    p2p->traffic.received_bytes += (double)(received * sizeof *receive);
    p2p->traffic.sent_messages += sent > 0;
    p2p->traffic.received_messages += received > 0;
}

void p2p_send(struct p2p *p2p, int to, const float *send, size_t count)
{
    p2p_pass(p2p, to, send, count, to, NULL, 0);
}

void p2p_receive(struct p2p *p2p, int from, float *receive, size_t count)
{
    p2p_pass(p2p, from, NULL, 0, from, receive, count);
}

struct traffic p2p_traffic(struct p2p *p2p)
{
    struct traffic traffic = p2p->traffic;
    p2p->traffic = (struct traffic){ 0 };
    return traffic;
}
