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
    struct stage { /* of the host, for a device that MPI cannot reach */
        size_t bytes;
        void *memory;
    } out, in;
};

struct p2p *p2p_open(struct world *world)
{
    struct p2p *peers = memory_new(1, sizeof *peers);
    peers->world = world;
    return peers;
}

void p2p_close(struct p2p *peers)
{
    device_stage_free(peers->out.memory);
    device_stage_free(peers->in.memory);
    free(peers);
}

int p2p_rank(const struct p2p *peers)
{
    return world_rank(peers->world);
}

int p2p_count(const struct p2p *peers)
{
    return world_size(peers->world);
}

/* What MPI is to read or write in place of these floats; NULL: themselves. What the stage held has left it when the device has
 * done what it was told. */
static void *instead_of(struct stage *stage, const float *floats, size_t count)
{
    size_t bytes = count * sizeof *floats;
    if (count > INT_MAX)
        die(STATUS_WRONG, "%zu floats are too many for one message; the most is %d", count, INT_MAX);
    if (count == 0)
        return NULL;
    if (device_is_host_accessible())
        return device_fake_buffer(floats, bytes);
    device_wait();
    if (bytes > stage->bytes) {
        device_stage_free(stage->memory);
        *stage = (struct stage){ bytes, device_stage_new(bytes) };
    }
    return stage->memory;
}

void p2p_pass(struct p2p *peers, int to, const float *send, size_t sent, int from, float *receive, size_t received)
{
    void *out = instead_of(&peers->out, send, sent), *in = instead_of(&peers->in, receive, received);
    if (device_is_host_accessible() && out &&
        in) { /* one blank stands for both; MPI wants two buffers that do not overlap */
        out = device_fake_buffer(send, (sent + received) * sizeof *send);
        in = (float *)out + sent;
    }
    if (!device_is_host_accessible() && sent > 0)
        device_fetch(out, send, sent * sizeof *send);
    MPI_Sendrecv(out ? out : send, (int)sent, MPI_FLOAT, sent > 0 ? to : MPI_PROC_NULL, 0, in ? in : receive,
                 (int)received, MPI_FLOAT, received > 0 ? from : MPI_PROC_NULL, 0, peers->world->comm,
                 MPI_STATUS_IGNORE);
    if (!device_is_host_accessible() && received > 0)
        device_put_later(receive, in, received * sizeof *receive);
    peers->traffic.sent_bytes += (double)(sent * sizeof *send);
    peers->traffic.received_bytes += (double)(received * sizeof *receive);
    peers->traffic.sent_messages += sent > 0;
    peers->traffic.received_messages += received > 0;
}

void p2p_send(struct p2p *peers, int to, const float *send, size_t count)
{
    p2p_pass(peers, to, send, count, to, NULL, 0);
}

void p2p_receive(struct p2p *peers, int from, float *receive, size_t count)
{
    p2p_pass(peers, from, NULL, 0, from, receive, count);
}

struct traffic p2p_traffic(struct p2p *peers)
{
    struct traffic traffic = peers->traffic;
    peers->traffic = (struct traffic){ 0 };
    return traffic;
}
