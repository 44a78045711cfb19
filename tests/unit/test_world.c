/* test_world.c: test that more bytes than MPI counts are refused, in a world that never started. */
#include "base/die.h"
#include "support/ending.h"
#include "support/unit.h"
#include "world/world.h"
#include "world/world_mpi.h"

#include <limits.h>

enum call { BROADCAST, GATHER, ALL_GATHER };

static const size_t most = INT_MAX;

static void send_too_much(const void *call)
{
    struct world world = { .comm = MPI_COMM_NULL };
    switch (*(const enum call *)call) {
    case BROADCAST:
        world_broadcast(&world, NULL, most + 1);
        break;
    case GATHER:
        world_gather(&world, NULL, most + 1, NULL);
        break;
    case ALL_GATHER:
        world_allgather(&world, NULL, most + 1, NULL);
        break;
    }
}

/* The count would be negative as an int. */
TEST(more_bytes_than_mpi_counts_are_refused)
{
    static const enum call calls[] = { BROADCAST, GATHER, ALL_GATHER };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const struct ending ending = ending_of(send_too_much, &calls[i]);
        assert_int_equal(ending.status, STATUS_WRONG);
        assert_holds(ending.err, "a rank sends 2.15 GB");
        assert_holds(ending.err, "use fewer --steps");
    }
}
