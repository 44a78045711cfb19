/* NCCL where no GPU can be seen: every rank is refused with a reason, and none waits for another. Started by mpirun. */
#include "collective/collective.h"
#include "world/world.h"

#include <stdio.h>

int main(void)
{
    struct world *world = world_open(60);
    collective_begin(world, false, 20);
    collective_open(world, NULL); /* ends the program */
    puts("NCCL started without a GPU");
    return 1;
}
