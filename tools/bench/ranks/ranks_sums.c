/* An all-reduce through the harness against MPI alone: same buffer, in place, same ranks, same algorithm. */
#include "ranks.h"

#include "base/memory.h"
#include "collective/collective.h"
#include "collective/spans.h"
#include "device/device.h"
#include "world/world.h"
#include "world/world_mpi.h"

#include <math.h>
#include <stdlib.h>

enum { CALLS_MOST = 200, LARGEST = 128 << 20 };

/* `calls` is the number of calls per turn: for short sums just enough that the cost of the clock does not matter. Short turns
 * confine the machine's noise to few of many turns. */
static const struct size {
    const char *name;
    size_t bytes;
    int calls, rounds;
    double goal;
} sizes[] = {
    { "4 B", 4, CALLS_MOST, 200, 1.03 }, { "4 KiB", 4 << 10, 50, 200, 1.03 },   { "64 KiB", 64 << 10, 10, 200, 1.03 },
    { "1 MiB", 1 << 20, 1, 200, 1.01 },  { "12.5 MB", 12496800, 1, 200, 1.01 }, /* gradients of the MLP */
    { "128 MiB", LARGEST, 1, 40, 1.01 },
};
enum { SIZES = sizeof sizes / sizeof *sizes, STAMPS_SHOW = 4 << 10 };

struct rig {
    struct world *world;
    struct collective *collective;
    struct spans spans;
    float *terms; /* zeros, so that sums do not grow */
    double stamps[2 * CALLS_MOST];
};

/* all: seconds per call. A barrier lets the ranks begin together, after every rank has ended the previous turn. */
static double time_ours(struct rig *rig, const struct size *size)
{
    spans_restart(&rig->spans, 0, 0);
    world_barrier(rig->world);
    double began = world_now();
    for (int i = 0; i < size->calls; i++)
        collective_run(rig->collective, all_reduce(TYPE_F32, rig->terms, rig->terms, size->bytes / sizeof(float)));
    return (world_now() - began) / size->calls;
}

static double time_raw(struct rig *rig, const struct size *size)
{
    MPI_Comm comm = rig->world->comm;
    int count = (int)(size->bytes / sizeof(float));
    world_barrier(rig->world);
    double began = world_now();
    for (int i = 0; i < size->calls; i++)
        MPI_Allreduce(MPI_IN_PLACE, rig->terms, count, MPI_FLOAT, MPI_SUM, comm);
    return (world_now() - began) / size->calls;
}

/* The minimum of any harness: MPI_Allreduce with a stamp before and after each call. */
static double time_stamped(struct rig *rig, const struct size *size)
{
    MPI_Comm comm = rig->world->comm;
    int count = (int)(size->bytes / sizeof(float));
    world_barrier(rig->world);
    double began = world_now();
    for (int i = 0; i < size->calls; i++) {
        rig->stamps[2 * i] = device_record_event();
        MPI_Allreduce(MPI_IN_PLACE, rig->terms, count, MPI_FLOAT, MPI_SUM, comm);
        rig->stamps[2 * i + 1] = device_record_event();
    }
    return (world_now() - began) / size->calls;
}

typedef double way(struct rig *rig, const struct size *size);

/* all: time one way against MPI alone, in turns. */
static void take_turns(struct rig *rig, const struct size *size, way *one, double *ours, double *raw, int rounds)
{
    time_raw(rig, size); /* warm-up: page faults, connections */
    for (int i = 0; i < rounds; i++) {
        if (i % 2)
            raw[i] = time_raw(rig, size);
        ours[i] = one(rig, size);
        if (i % 2 == 0)
            raw[i] = time_raw(rig, size);
    }
}

static void open_rig(struct rig *rig, struct world *world, float *terms)
{
    *rig = (struct rig){ .world = world, .terms = terms };
    spans_open(&rig->spans, CALLS_MOST);
    rig->collective = collective_open(world, &rig->spans);
}

static void close_rig(struct rig *rig)
{
    collective_close(rig->collective);
    spans_close(&rig->spans);
}

/* Report what the harness adds to an all-reduce, measured on a single rank to exclude everything else. The reference is raw
 * (rounds): MPI's time for the shortest all-reduce among all ranks. */
static void find_added(struct ranks *ranks, float *terms, const double *raw, int rounds)
{
    double *added = memory_new(2 * (size_t)rounds, sizeof *added), *alone = added + rounds;
    struct world *one = world_first(ranks->world, 1);
    if (one) {
        struct rig rig;
        open_rig(&rig, one, terms);
        take_turns(&rig, &sizes[0], time_ours, added, alone, rounds);
        for (int i = 0; i < rounds; i++)
            added[i] -= alone[i];
        close_rig(&rig);
        world_leave(one);
    }
    world_park(ranks->world);
    ranks_found_difference(ranks, "what the harness adds to a sum, against MPI's own for 4 B, ns", 1e9, (double)NAN,
                           added, raw, rounds);
    free(added);
}

static void compare(struct ranks *ranks, struct rig *rig, const struct size *size, way *one, const char *of,
                    double goal)
{
    int rounds = ranks_rounds(ranks, size->rounds);
    double *ours = memory_new(2 * (size_t)rounds, sizeof *ours), *raw = ours + rounds;
    char *what =
        memory_text("%s of %s among %d ranks against MPI_Allreduce, us", of, size->name, world_size(rig->world));
    take_turns(rig, size, one, ours, raw, rounds);
    ranks_found(ranks, what, 1e6, goal, ours, raw, rounds);
    if (size == sizes && one == time_ours)
        find_added(ranks, rig->terms, raw, rounds);
    free(what);
    free(ours);
}

void ranks_sums(struct ranks *ranks)
{
    float *terms = device_new(MEMORY_COMMUNICATION, LARGEST, 1);
    struct rig rig;
    open_rig(&rig, ranks->world, terms);
    for (int i = 0; i < SIZES; i++) {
        const struct size *size = &sizes[i];
        compare(ranks, &rig, size, time_ours, "sum", size->goal);
        if (size->bytes <= STAMPS_SHOW)
            compare(ranks, &rig, size, time_stamped, "  stamps around one", (double)NAN);
    }
    close_rig(&rig);
    device_free(terms);
}
