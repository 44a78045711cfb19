#include "stall.h"

#include "world.h"

void stall(struct stall stall)
{
    switch (stall.kind) {
    case STALL_NONE:
        break;
    case STALL_SLEEP:
        world_sleep(stall.seconds);
        break;
    case STALL_BUSY:
        world_busy(stall.seconds);
        break;
    }
}
