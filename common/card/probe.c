#include "card/probe.h"

#include "base/interference.h"
#include "base/memory.h"
#include "card/laps.h"
#include "card/sweep.h"
#include "device/device.h"
#include "world/world.h"

#include <math.h>
#include <stdlib.h>

/* All-reduces at a time, after a warm-up; of brief steps up to PAIR_MOST, after two, because a round measures more of them: the first
 * after a pause took 0.35 to 0.65 ms, the second 0.3, the fifth 0.27 (1.7 MB between two ranks, Intel Xeon, 2026-11-28). */
enum { PAIR = 2, PAIR_MOST = 8 };

/* Laps of a short probe: about so long, as one step of a published model. */
static const double SHORT_S = 0.03;
enum { SHORT_LAPS_MOST = 16 };

/* Collectives that probes repeat. */
struct sums {
    struct sweep_call call;
    struct sweep sweep;
    struct sweep_bench *bench; /* NULL: none */
};

struct probe {
    struct world *world;
    struct shape_bench *bench;
    struct collective *lap_sums; /* of real ranks at once, which sum; NULL: none */
    struct lap_plan plan, short_plan;
    double small_share; /* of the usual batch in the small one; 0: none */
    bool is_alone;      /* rank 0 takes the steps while the other ranks sleep */
    struct sums gradients, larger;
};

/* Train on until the next gradients are ready, so that caches and arrivals are as in a step. */
static void train_until_sum(void *argument)
{
    struct probe *p = argument;
    shape_bench_between_sums(p->bench);
}

/* all: return how many all-reduces are measured at a time, by the card of rank 0. */
static int sums_at_a_time(const struct card *card, struct world *world)
{
    const struct card_probe usual = card_usual(card);
    const double step = lap_seconds(usual.local);
    int sums = step > 0 ? (int)fmin(PAIR_MOST, fmax(PAIR, SHORT_S / step)) : PAIR;
    world_broadcast(world, &sums, sizeof sums);
    return sums;
}

/* all: open the all-reduce of the trainer's gradients, in place. */
static void open_sums(struct probe *p, const struct workload *workload, int at_a_time)
{
    const bool is_real = !world_is_simulated();
    struct sums *sums = &p->gradients;
    sums->call = (struct sweep_call){ .kind = ALL_REDUCE, .bytes = workload_gradient_bytes(workload) };
    sums->sweep = (struct sweep){ .calls = &sums->call,
                                  .count = 1,
                                  .warmups = is_real ? 1 + (at_a_time > PAIR) : 0,
                                  .repeats = is_real ? at_a_time : 1, /* simulated ones repeat exactly */
                                  .has_means = true,
                                  .is_unchecked = true,
                                  .between = is_real ? train_until_sum : NULL,
                                  .argument = p,
                                  .written = shape_bench_trainer(p->bench)->gradients,
                                  .written_bytes = (size_t)workload_gradient_bytes(workload) };
    sums->bench = sweep_open(p->world, &sums->sweep);
    if (is_real) { /* the first update's gradients */
        shape_bench_fetch(p->bench);
        shape_bench_passes(p->bench);
        device_wait();
    }
}

double probe_larger_bytes(const struct card_uses *uses, const struct workload *workload, int ranks, bool is_simulated)
{
    const double much = 4, part = 0.75;
    double largest = 0;
    for (int i = 0; i < uses->count; i++)
        if (uses->at[i].kind == ALL_REDUCE && card_group_equals(uses->at[i].group, first_ranks(ranks)))
            largest = fmax(largest, uses->at[i].bytes);
    return is_simulated || largest < much * workload_gradient_bytes(workload)
               ? 0
               : floor(part * largest / sizeof(float)) * sizeof(float);
}

void probe_larger(struct probe *p, double bytes)
{
    if (!p || world_size(p->world) == 1 || !(bytes > 0))
        return;
    struct sums *sums = &p->larger;
    sums->call = (struct sweep_call){ .kind = ALL_REDUCE, .bytes = bytes };
    sums->sweep = (struct sweep){
        .calls = &sums->call, .count = 1, .repeats = 3, .is_unchecked = true, .between = train_until_sum, .argument = p
    };
    sums->bench = sweep_open(p->world, &sums->sweep);
}

/* Let laps take turns with those of a small batch, which tell what is fixed in the passes. Sums change that: they leave gradients where the
 * passes of all ranks then find them, sooner or later. */
static void take_small_laps(struct probe *p, int usual)
{
    const double small = shape_bench_choose(p->bench, usual + 1).samples,
                 samples = shape_bench_choose(p->bench, usual).samples;
    if (small >= samples)
        return;
    p->small_share = small / samples;
    p->plan.count = p->short_plan.count = SHAPES_OF_USUAL;
}

struct probe *probe_open(const struct card *card, struct world *world, const struct workload *workload,
                         const struct run *run, struct trainer *trainer)
{
    if (!device_computes())
        return NULL;
    struct probe *p = memory_new(1, sizeof *p);
    const int usual = shape_bench_shapes(workload);
    *p = (struct probe){ .world = world,
                         .bench = shape_bench_open(workload, run, usual, SHAPES_OF_USUAL, trainer),
                         .plan = { .first = usual, .count = 1 },
                         .short_plan = { .first = usual, .count = 1, .turns = 1, .laps = 1 },
                         .is_alone = world_size(world) > card->cores };
    p->lap_sums = p->is_alone ? NULL : laps_open_sums(world);
    if (p->lap_sums)
        take_small_laps(p, usual);
    if (world_size(world) > 1)
        open_sums(p, workload, sums_at_a_time(card, world));
    return p;
}

void probe_warm_up(struct probe *p)
{
    if (p)
        p->short_plan.is_warm = !world_is_simulated();
}

struct shape_bench *probe_steps(const struct probe *p)
{
    return p ? p->bench : NULL;
}

void probe_close(struct probe *p)
{
    if (!p)
        return;
    laps_close_sums(p->lap_sums);
    if (p->gradients.bench)
        sweep_close(p->gradients.bench);
    if (p->larger.bench)
        sweep_close(p->larger.bench);
    shape_bench_close(p->bench);
    free(p);
}

/* all: run all-reduces. Ranks that share cores always wait for them, so that does not count as a disturbance. */
static struct visit visit_sums(struct probe *p, struct sums *sums)
{
    const double queued = interference_run_queue_delay(), stolen = interference_steal_time(""), began = world_wall();
    double seconds = 0;
    sweep_run(sums->bench, &seconds);
    const double took = world_wall() - began;
    return (struct visit){ .mean.passes = seconds, /* on rank 0 */
                           .queued = p->is_alone ? 0 : interference_run_queue_delay() - queued,
                           .took = took,
                           .turn_stolen = interference_steal_time("") - stolen,
                           .turn_took = took };
}

/* all: return the mean seconds of `count` visits, on rank 0; 0 for none. There, set *is_disturbed if others disturbed too many. */
static double measure_sums(struct probe *p, struct sums *sums, int count, bool *is_disturbed)
{
    const int ranks = world_size(p->world);
    if (!sums->bench)
        return 0;
    struct visits visits = visits_open(ranks, 1, count);
    for (bool lacks = true; lacks;) {
        const struct visit mine = visit_sums(p, sums);
        world_gather(p->world, &mine, sizeof mine, visits.at + visits.turns * ranks);
        visits.turns++;
        lacks = visits_lack(&visits, 0);
        world_broadcast(p->world, &lacks, sizeof lacks);
    }
    struct lap_times times = { 0 };
    visits_average(&visits, &times);
    visits_close(&visits);
    *is_disturbed |= times.is_disturbed;
    return times.mean[0].passes * ranks; /* the other ranks' are 0 */
}

double probe_transfer(struct probe *p, int pairs, bool *is_disturbed)
{
    *is_disturbed = false;
    return measure_sums(p, &p->gradients, pairs, is_disturbed);
}

/* all: run the laps of rank 0 while the others sleep. The times are on rank 0. */
static struct lap_times measure_alone(struct probe *p, const struct lap_plan *plan)
{
    struct lap_times times = { 0 };
    struct lap_plan usual = *plan;
    usual.count = 1;
    if (world_rank(p->world) == 0)
        times = laps_measure(p->bench, p->world, NULL, NULL, &usual);
    world_park(p->world);
    return times;
}

/* all: run laps of all ranks at once, or of rank 0 alone if they share cores. The times are on rank 0. The usual batch is chosen again: an
 * all-reduce after passes of the small one took 9 to 11 % less. */
static struct lap_times measure_laps(struct probe *p, const struct lap_plan *plan)
{
    const struct lap_times times =
        p->is_alone ? measure_alone(p, plan) : laps_measure(p->bench, p->world, p->world, p->lap_sums, plan);
    shape_bench_choose(p->bench, plan->first);
    return times;
}

/* all: end what the block before left running, and let all ranks begin together. */
static void settle(struct probe *p)
{
    trainer_settle(shape_bench_trainer(p->bench));
    world_park(p->world);
}

/* Return a probe from laps of the usual batch and of the small one. A rank alone has no jitter. */
static struct card_probe local_probe(const struct probe *p, const struct lap_times *times)
{
    struct card_probe probe = { .local = times->mean[0], .jitter = times->jitter };
    if (p->small_share > 0)
        probe.local.fixed = (times->mean[1].passes - p->small_share * times->mean[0].passes) / (1 - p->small_share);
    return probe;
}

struct card_probe probe_measure(struct probe *p, int visits)
{
    struct lap_times alone = { 0 };
    p->plan.turns = visits;
    settle(p);
    if (p->lap_sums)
        alone = measure_alone(p, &p->plan);
    const struct lap_times times = measure_laps(p, &p->plan);
    struct card_probe probe = local_probe(p, &times);
    probe.transfer = probe_transfer(p, visits / PAIR, &probe.sums_disturbed);
    probe.alone = alone.mean[0];
    probe.larger = measure_sums(p, &p->larger, 1, &probe.sums_disturbed);
    probe.larger_bytes = p->larger.call.bytes;
    world_broadcast(p->world, &probe, sizeof probe);
    p->short_plan.laps = (int)fmin(SHORT_LAPS_MOST, fmax(1, round(SHORT_S / lap_seconds(times.mean[0]))));
    world_broadcast(p->world, &p->short_plan.laps, sizeof p->short_plan.laps);
    return probe;
}

struct card_probe probe_local_step(struct probe *p)
{
    settle(p);
    const struct lap_times times = measure_laps(p, &p->short_plan);
    struct card_probe probe = times.is_disturbed ? (struct card_probe){ 0 } : local_probe(p, &times);
    world_broadcast(p->world, &probe, sizeof probe);
    return probe;
}

struct memory_estimate probe_memory(const struct workload *workload, const struct run *run)
{
    return shape_bench_data_memory(workload, run, shape_bench_shapes(workload), 1);
}
