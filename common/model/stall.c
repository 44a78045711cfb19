#include "model/stall.h"

#include "base/memory.h"
#include "world/async_helper.h"
#include "world/world.h"

#include <stdlib.h>

struct aside {
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
    const struct aside *aside = argument;
    stall(aside->stall);
}

struct aside *stall_open(void)
{
    struct aside *aside = memory_new(1, sizeof *aside);
    aside->helper = async_helper_open();
    return aside;
}

void stall_close(struct aside *aside)
{
    async_helper_close(aside->helper);
    free(aside);
}

void stall_begin(struct aside *aside, struct stall stall)
{
    aside->stall = stall;
    async_helper_begin(aside->helper, stall_aside, aside);
}

void stall_end(struct aside *aside)
{
    async_helper_end(aside->helper);
}
