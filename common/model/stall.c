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

static void stall_aside(void *argument)
{
    const struct async_stall *aside = argument;
    stall(aside->stall);
}

struct async_stall *async_stall_open(void)
{
    struct async_stall *aside = memory_new(1, sizeof *aside);
    aside->helper = async_helper_open();
    return aside;
}

void async_stall_close(struct async_stall *aside)
{
    async_helper_close(aside->helper);
    free(aside);
}

void async_stall_begin(struct async_stall *aside, struct stall stall)
{
    aside->stall = stall;
    async_helper_begin(aside->helper, stall_aside, aside);
}

void async_stall_wait(struct async_stall *aside)
{
    async_helper_end(aside->helper);
}
