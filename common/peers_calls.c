#include "peers.h"

#include "device.h"
#include "die.h"
#include "memory.h"
#include "world.h"
#include "world_mpi.h"

#include <limits.h>
#include <stdlib.h>

struct peers {
    struct world *world;
    struct traffic traffic;
    struct stage { /* of the host, for a device that MPI cannot reach */
        size_t bytes;
        void *memory;
    } out, in;
};

struct peers *peers_open(struct world *world)
{
    struct peers *peers = memory_new(1, sizeof *peers);
    peers->world = world;
    return peers;
}

void peers_close(struct peers *peers)
{
    device_stage_free(peers->out.memory);
    device_stage_free(peers->in.memory);
    free(peers);
}

int peers_rank(const struct peers *peers)
{
    return world_rank(peers->world);
}

int peers_count(const struct peers *peers)
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
    if (device_is_at_hand())
        return device_blank(floats, bytes);
    device_wait();
    if (bytes > stage->bytes) {
        device_stage_free(stage->memory);
        *stage = (struct stage){ bytes, device_stage_new(bytes) };
    }
    return stage->memory;
}

void peers_pass(struct peers *peers, int to, const float *send, size_t sent, int from, float *receive, size_t received)
{
    void *out = instead_of(&peers->out, send, sent), *in = instead_of(&peers->in, receive, received);
    if (device_is_at_hand() && out && in) { /* one blank stands for both; MPI wants two buffers that do not overlap */
        out = device_blank(send, (sent + received) * sizeof *send);
        in = (float *)out + sent;
    }
    if (!device_is_at_hand() && sent > 0)
        device_fetch(out, send, sent * sizeof *send);
    MPI_Sendrecv(out ? out : send, (int)sent, MPI_FLOAT, sent > 0 ? to : MPI_PROC_NULL, 0, in ? in : receive,
                 (int)received, MPI_FLOAT, received > 0 ? from : MPI_PROC_NULL, 0, peers->world->comm,
                 MPI_STATUS_IGNORE);
    if (!device_is_at_hand() && received > 0)
        device_put_later(receive, in, received * sizeof *receive);
    peers->traffic.sent_bytes += (double)(sent * sizeof *send);
    peers->traffic.received_bytes += (double)(received * sizeof *receive);
    peers->traffic.sent_messages += sent > 0;
    peers->traffic.received_messages += received > 0;
}

void peers_send(struct peers *peers, int to, const float *send, size_t count)
{
    peers_pass(peers, to, send, count, to, NULL, 0);
}

void peers_receive(struct peers *peers, int from, float *receive, size_t count)
{
    peers_pass(peers, from, NULL, 0, from, receive, count);
}

struct traffic peers_traffic(struct peers *peers)
{
    struct traffic traffic = peers->traffic;
    peers->traffic = (struct traffic){ 0 };
    return traffic;
}
