#include "model/stall.h"

#include "base/memory.h"
#include "world/async_helper.h"
#include "world/world.h"

#include <stdlib.h>

struct async_stall {
    struct async_helper *helper;
    struct stall stall;
};

void stall(struct stall stall)
{
    switch (stall.kind) {
    case STALL_NONE:
        break;
    case STALL_SLEEP:
        world_sleep(stall.seconds);
        break;
    case STALL_BUSY:
        world_burn_cpu(stall.seconds);
        break;
    }
}

static void run_stall(void *argument)
{
    const struct async_stall *async = argument;
    stall(async->stall);
}

struct async_stall *async_stall_open(void)
{
    struct async_stall *async = memory_new(1, sizeof *async);
    async->helper = async_helper_open();
    return async;
}

void async_stall_close(struct async_stall *async)
{
    async_helper_close(async->helper);
    free(async);
}

void async_stall_begin(struct async_stall *async, struct stall stall)
{
    async->stall = stall;
    async_helper_begin(async->helper, run_stall, async);
}

void async_stall_wait(struct async_stall *async)
{
    async_helper_end(async->helper);
}
