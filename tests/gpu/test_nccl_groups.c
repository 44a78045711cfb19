/* test_nccl_groups.c: start an operation of all ranks, which the last rank never joins, and then use another group. The rank that
 * waits for the first operation must give up after the timeout, although its last operation is done. Three ranks. With the argument
 * `failing`, NCCL cannot say meanwhile how its communicators are; the rank must give up at once, and say why. */
#include "collective/collective.h"
#include "device/device.h"
#include "world/world.h"

#include <nccl.h>
#include <stdbool.h>
#include <stdio.h>

static bool is_failing;

ncclResult_t __real_ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *state);
ncclResult_t __wrap_ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *state);
ncclResult_t __wrap_ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *state)
{
    return is_failing ? ncclSystemError : __real_ncclCommGetAsyncError(comm, state);
}

int main(int argc, char **argv)
{
    (void)argv;
    struct world *world = world_open(60);
    int rank = world_rank(world), last = world_size(world) - 1;
    device_open(rank, PRECISION_FP32);
    world_trains_on(world, device_gpus());
    collective_begin(world, true, 2); /* a rank waits for half of it */
    struct collective *c = collective_open(world, NULL);
    const struct group *others = collective_split(c, rank < last ? 0 : -1, 0);
    float *x = device_new(MEMORY_DATA, 2, sizeof *x);
    if (rank == last)
        world_sleep(50);
    int ticket = collective_start(c, all_reduce(TYPE_F32, x, x, 1));
    collective_run(c, in_group(others, all_reduce(TYPE_F32, x + 1, x + 1, 1)));
    is_failing = argc > 1;
    device_wait();
    collective_finish(c, ticket);
    device_wait();
    puts("the operation ended without its last rank");
    return 0;
}
