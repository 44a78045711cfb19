#include "collective/join.h"

#include "base/memory.h"
#include "device/device.h"
#include "world/world.h"

#include <stdlib.h>

struct join {
    struct collective *collective;
    float *count; /* (1) device memory */
};

struct join *join_open(struct collective *collective)
{
    struct join *join = memory_new(1, sizeof *join);
    join->collective = collective;
    join->count = device_new(1, sizeof *join->count);
    return join;
}

void join_close(struct join *join)
{
    device_free(join->count);
    free(join);
}

int join_step(struct join *join, bool has_batch)
{
    float count = has_batch ? 1 : 0;
    device_put(join->count, &count, sizeof count);
    collective_run(join->collective, all_reduce(TYPE_F32, join->count, join->count, 1));
    device_fetch(&count, join->count, sizeof count);
    return device_computes() ? (int)count : world_size(collective_world(join->collective));
}
