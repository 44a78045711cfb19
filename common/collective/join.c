#include "collective/join.h"

#include "base/memory.h"
#include "device/device.h"
#include "world/world.h"

#include <stdlib.h>

struct join {
    struct collective *collective;
    int rank, ranks;
    float *flags, *host; /* (ranks) device and host memory: 1 if a rank has a batch */
};

struct join *join_open(struct collective *collective)
{
    struct join *join = memory_new(1, sizeof *join);
    join->collective = collective;
    join->rank = world_rank(collective_world(collective));
    join->ranks = world_size(collective_world(collective));
    join->flags = device_new(MEMORY_COMMUNICATION, (size_t)join->ranks, sizeof *join->flags);
    join->host = memory_new((size_t)join->ranks, sizeof *join->host);
    return join;
}

void join_close(struct join *join)
{
    device_free(join->flags);
    free(join->host);
    free(join);
}

int join_step(struct join *join, bool has_batch)
{
    const size_t count = (size_t)join->ranks;
    int having = 0;
    for (int rank = 0; rank < join->ranks; rank++)
        join->host[rank] = rank == join->rank && has_batch ? 1 : 0;
    device_put(join->flags, join->host, count * sizeof *join->flags);
    collective_run(join->collective, all_reduce(TYPE_F32, join->flags, join->flags, count));
    device_fetch(join->host, join->flags, count * sizeof *join->flags);
    for (int rank = 0; rank < join->ranks; rank++)
        having += join->host[rank] > 0;
    return device_computes() ? having : join->ranks;
}
