/* on_ranks.h: tests of a file that run on all ranks of a job: AROUND_TESTS(open_ranks, close_ranks). They use `world`. Without a usable
 * GPU, a program built for GPUs exits with 77. */
#ifndef LOCKSTEP_ON_RANKS_H
#define LOCKSTEP_ON_RANKS_H

#include "collective/collective.h"
#include "device/device.h"
#include "world/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct world *world;

static inline void open_ranks(void)
{
    world = world_open(60);
    if (device_gpus() == 0 && strcmp(device_name(), "cuda") == 0) {
        world_close(world);
        puts("built with CUDA, no usable device");
        exit(77);
    }
    device_open(world_rank(world), PRECISION_FP32);
    if (device_gpus() > 0)
        world_trains_on(world, device_gpus());
    collective_begin(world, true, 0);
}

static inline void close_ranks(void)
{
    device_close();
    world_close(world);
}

#endif
