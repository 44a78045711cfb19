#include "card/probe.h"

#include "base/memory.h"
#include "card/laps.h"
#include "card/sweep.h"
#include "device/device.h"
#include "world/world.h"

#include <stdlib.h>

enum { PAIR = 2 }; /* all-reduces at a time, after a warm-up */

struct probe {
    struct world *world;
    struct shape_bench *bench;
    struct lap_plan plan;
    bool is_alone; /* rank 0 takes the steps while the other ranks sleep */
    struct sweep_call call;
    struct sweep sweep;
    struct sweep_bench *sums; /* NULL: one rank */
};

/* Train until the gradients are ready, so that caches and arrivals are as in a step. */
static void pass(void *argument)
{
    struct probe *p = argument;
    shape_bench_passes(p->bench);
}

/* all: open the all-reduce of the trainer's gradients, in place. */
static void open_sums(struct probe *p, const struct workload *workload)
{
    const bool is_real = !world_is_simulated();
    p->call = (struct sweep_call){ .kind = ALL_REDUCE, .bytes = workload_gradient_bytes(workload) };
    p->sweep = (struct sweep){ .calls = &p->call,
                               .count = 1,
                               .warmups = is_real,
                               .repeats = is_real ? PAIR : 1, /* simulated ones repeat exactly */
                               .has_means = true,
                               .buffer = shape_bench_trainer(p->bench)->gradients,
                               .between = is_real ? pass : NULL,
                               .argument = p };
    p->sums = sweep_open(p->world, &p->sweep);
}

struct probe *probe_open(const struct card *card, struct world *world, const struct workload *workload,
                         const struct run *run, struct trainer *trainer)
{
    if (!device_computes())
        return NULL;
    struct probe *p = memory_new(1, sizeof *p);
    const int usual = shape_bench_shapes(workload);
    *p = (struct probe){ .world = world,
                         .bench = shape_bench_open(workload, run, usual, 1, trainer),
                         .plan = { .first = usual, .count = 1 },
                         .is_alone = world_size(world) > card->cores };
    if (world_size(world) > 1)
        open_sums(p, workload);
    return p;
}

void probe_close(struct probe *p)
{
    if (!p)
        return;
    if (p->sums)
        sweep_close(p->sums);
    shape_bench_close(p->bench);
    free(p);
}

double probe_transfer(struct probe *p, int pairs)
{
    double transfer = 0;
    shape_bench_fetch(p->bench);
    for (int i = 0; i < pairs && p->sums; i++) {
        double seconds = 0;
        sweep_run(p->sums, &seconds);
        transfer += seconds / pairs;
    }
    return transfer;
}

struct card_probe probe_measure(struct probe *p, int laps)
{
    struct lap_times times = { 0 };
    p->plan.laps = laps;
    world_park(p->world);
    if (!p->is_alone || world_rank(p->world) == 0)
        times = laps_measure(p->bench, p->world, p->is_alone ? NULL : p->world, &p->plan);
    if (p->is_alone)
        world_park(p->world);
    const double transfer = probe_transfer(p, laps / PAIR);
    struct card_probe probe = { times.mean[0].fetch, times.mean[0].passes, times.mean[0].update, transfer };
    world_broadcast(p->world, &probe, sizeof probe);
    return probe;
}

struct memory_estimate probe_memory(const struct workload *workload, const struct run *run)
{
    return shape_bench_data_memory(workload, run, shape_bench_shapes(workload), 1);
}

struct memory_estimate probe_memory_alone(const struct workload *workload, const struct run *run)
{
    return shape_bench_memory(workload, run, shape_bench_shapes(workload), 1);
}
