/* test_nccl_start.c: start NCCL without a visible GPU. Every rank must end with a reason and not wait for others. Runs under
 * mpirun. */
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
