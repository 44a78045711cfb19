#include "card/calibrate.h"

#include "base/cores.h"
#include "base/die.h"
#include "base/interference.h"
#include "base/memory.h"
#include "base/stats.h"
#include "card/machine_probes.h"
#include "device/device.h"
#include "model/shape_bench.h"
#include "world/world.h"

#include <math.h>
#include <stdlib.h>

enum {
    WARMUP_STEPS = 1,
    MEASURED_STEPS = 5,
    SHAPES_MOST = 8,
};

static const double DRIFT = 0.15; /* a card further off is measured again: baselines are predicted within 15 % */

/* Steps of one rank without any collective. */
struct bench {
    const struct workload *workload;
    struct world *world;
    struct shape_bench *shapes;
};

static struct bench bench_open(const struct workload *workload, const struct run *run, struct world *world)
{
    return (struct bench){ .workload = workload, .world = world, .shapes = shape_bench_open(workload, run) };
}

static void bench_close(struct bench *bench)
{
    shape_bench_close(bench->shapes);
}

struct lap {
    double fetch, passes, update;
};

static struct lap one_step(struct bench *bench)
{
    double at[4];
    world_heartbeat(bench->world);
    device_clock_sync_begin();
    at[0] = device_record_event();
    shape_bench_fetch(bench->shapes);
    at[1] = device_record_event();
    shape_bench_passes(bench->shapes);
    at[2] = device_record_event();
    shape_bench_update(bench->shapes);
    at[3] = device_record_event();
    device_wait();
    for (int i = 0; i < 4; i++)
        at[i] = device_event_seconds(at[i]);
    return (struct lap){ .fetch = at[1] - at[0], .passes = at[2] - at[1], .update = at[3] - at[2] };
}

/* Measure laps of one shape. If `sync` is not NULL (all), its ranks enter a barrier before each lap. */
static struct work measure_laps(struct bench *bench, int shape, struct lap laps[MEASURED_STEPS], struct world *sync)
{
    struct work work = shape_bench_choose(bench->shapes, shape);
    for (int i = -WARMUP_STEPS; i < MEASURED_STEPS; i++) {
        if (sync)
            world_barrier(sync);
        struct lap lap = one_step(bench);
        if (i >= 0)
            laps[i] = lap;
    }
    return work;
}

/* Return the median lap, part by part. */
static struct lap typical_lap(const struct lap *laps)
{
    double fetch[MEASURED_STEPS], passes[MEASURED_STEPS], update[MEASURED_STEPS];
    for (int i = 0; i < MEASURED_STEPS; i++) {
        fetch[i] = laps[i].fetch;
        passes[i] = laps[i].passes;
        update[i] = laps[i].update;
    }
    return (struct lap){ .fetch = stats_quantile(fetch, MEASURED_STEPS, 0.5),
                         .passes = stats_quantile(passes, MEASURED_STEPS, 0.5),
                         .update = stats_quantile(update, MEASURED_STEPS, 0.5) };
}

/* Fit a cost, in the workload's terms, to the times of batches of several shapes. */
static struct cost fit(const struct workload *workload, const struct work *works, const double *seconds)
{
    double amounts[SHAPES_MOST * COST_TERMS];
    for (int i = 0; i < shape_bench_shapes(workload); i++)
        work_amounts(works[i], amounts + i * COST_TERMS);
    struct cost cost;
    stats_fit(cost.term, amounts, seconds, shape_bench_shapes(workload), COST_TERMS, shape_bench_terms(workload));
    return cost;
}

static struct local_cost cost_of(const struct workload *workload, const struct work *works, const struct lap *laps)
{
    double fetch[SHAPES_MOST], passes[SHAPES_MOST], update = 0;
    for (int i = 0; i < shape_bench_shapes(workload); i++) {
        fetch[i] = laps[i].fetch;
        passes[i] = laps[i].passes;
        update += laps[i].update / shape_bench_shapes(workload);
    }
    return (struct local_cost){ .fetch = fit(workload, works, fetch),
                                .passes = fit(workload, works, passes),
                                .update = update };
}

static void refuse_many_shapes(const struct workload *workload)
{
    if (shape_bench_shapes(workload) > SHAPES_MOST)
        die(STATUS_WRONG, "a workload has %d batch shapes and the card takes %d; raise SHAPES_MOST",
            shape_bench_shapes(workload), SHAPES_MOST);
}

static void measure_alone(struct card *card, struct bench *bench)
{
    struct lap laps[MEASURED_STEPS], typical[SHAPES_MOST];
    struct work works[SHAPES_MOST];
    for (int shape = 0; shape < shape_bench_shapes(bench->workload); shape++) {
        works[shape] = measure_laps(bench, shape, laps, NULL);
        typical[shape] = typical_lap(laps);
    }
    card->alone = cost_of(bench->workload, works, typical);
}

/* Compute on rank 0, from laps (ranks, shapes, MEASURED_STEPS): the mean over ranks of each shape's typical lap, and for each
 * step of each shape the excess of the slowest rank over the mean. */
static void compare_ranks(const struct lap *laps, int ranks, int shapes, struct lap *typical, double *above)
{
    for (int shape = 0; shape < shapes; shape++) {
        typical[shape] = (struct lap){ 0 };
        for (int rank = 0; rank < ranks; rank++) {
            struct lap lap = typical_lap(laps + (shapes * rank + shape) * MEASURED_STEPS);
            typical[shape].fetch += lap.fetch / ranks;
            typical[shape].passes += lap.passes / ranks;
            typical[shape].update += lap.update / ranks;
        }
        for (int i = 0; i < MEASURED_STEPS; i++) {
            double sum = 0, most = 0;
            for (int rank = 0; rank < ranks; rank++) {
                const struct lap *lap = &laps[(shapes * rank + shape) * MEASURED_STEPS + i];
                double step = lap->fetch + lap->passes + lap->update;
                sum += step;
                most = fmax(most, step);
            }
            above[shape * MEASURED_STEPS + i] = most - sum / ranks;
        }
    }
}

/* all of a sub-world: every rank makes its own steps, all at once. */
static void measure_together(struct card *card, struct bench *bench, struct world *world)
{
    int ranks = world_size(world), shapes = shape_bench_shapes(bench->workload);
    size_t mine_bytes = (size_t)(shapes * MEASURED_STEPS) * sizeof(struct lap);
    struct lap mine[SHAPES_MOST * MEASURED_STEPS], *all = memory_new((size_t)ranks, mine_bytes);
    struct work works[SHAPES_MOST];
    /* Simulated ranks compute in turns, from barrier to barrier. Each finds a cache that other ranks have used meanwhile. */
    struct world *sync = world_is_simulated() ? world : NULL;
    for (int shape = 0; shape < shapes; shape++) {
        world_barrier(world);
        works[shape] = measure_laps(bench, shape, mine + shape * MEASURED_STEPS, sync);
    }
    world_gather(world, mine, mine_bytes, all);
    if (world_rank(world) == 0) {
        struct lap typical[SHAPES_MOST];
        double above[SHAPES_MOST * MEASURED_STEPS];
        compare_ranks(all, ranks, shapes, typical, above);
        card->together = cost_of(bench->workload, works, typical);
        card->jitter = stats_quantile(above, shapes * MEASURED_STEPS, 0.5);
    }
    free(all);
}

/* all: measure rank 0 alone, then all ranks that have a core. */
static void measure_steps(struct card *card, struct bench *bench)
{
    struct world *world = bench->world;
    world_park(world);
    const double queued = interference_run_queue_delay(), stolen = interference_steal_time(""), began = world_wall();
    if (world_rank(world) == 0)
        measure_alone(card, bench);
    world_park(world);
    struct world *part = world_first(world, card_busy_ranks(card));
    if (part) {
        measure_together(card, bench, part);
        world_leave(part);
    }
    const double took = world_wall() - began;
    card->queued_share = (interference_run_queue_delay() - queued) / took;
    card->stolen_share = (interference_steal_time("") - stolen) / took;
    world_park(world);
}

static void choose_batch(void *argument)
{
    struct bench *bench = argument;
    shape_bench_choose(bench->shapes, 0);
    shape_bench_fetch(bench->shapes);
}

static void run_pass(void *argument)
{
    struct bench *bench = argument;
    shape_bench_passes(bench->shapes);
}

/* all: add what the card lacks. Each real collective follows a real backward, so that caches and arrival are as in training.
 * Simulated collectives depend on neither. Then all ranks have the whole card. */
static struct check_failures measure_uses(struct card *card, struct bench *bench, struct world *world,
                                          const struct card_uses *uses)
{
    const struct collective_setting setting = { .gradient_bytes = workload_gradient_bytes(bench->workload),
                                                .prepare = choose_batch,
                                                .between = world_is_simulated() ? NULL : run_pass,
                                                .argument = bench };
    struct check_failures wrong = collective_costs_measure(&card->collectives, world, uses, &setting);
    if (uses->messages && !p2p_cost_is_known(&card->p2p))
        p2p_cost_measure(&card->p2p, world);
    world_broadcast(world, card, sizeof *card);
    return wrong;
}

struct check_failures calibrate_uses(struct card *card, struct world *world, const struct workload *workload,
                                     const struct run *run, const struct card_uses *uses)
{
    struct bench bench = bench_open(workload, run, world);
    struct check_failures wrong = measure_uses(card, &bench, world, uses);
    bench_close(&bench);
    return wrong;
}

static struct local_cost local_of(const struct device_costs *costs)
{
    struct local_cost local = { .fetch = costs->pass[WORK_FETCH], .update = costs->pass[WORK_UPDATE].term[COST_FIXED] };
    for (int term = 0; term < COST_TERMS; term++)
        local.passes.term[term] = costs->pass[WORK_FORWARD].term[term] + costs->pass[WORK_BACKWARD].term[term];
    return local;
}

/* Return the index of a rank's host: that of an earlier rank on the same host, or else the next free index. */
static short index_of_host(const struct device_costs *all, const struct card *card, int rank)
{
    short most = -1;
    for (int before = 0; before < rank; before++) {
        if (all[before].host == all[rank].host)
            return card->place[before].host;
        most = card->place[before].host > most ? card->place[before].host : most;
    }
    return (short)(most + 1);
}

/* all: read the hosts' costs from the platform file. Costs are rank 0's on the fastest host; each rank's slowdown is separate. */
static void read_costs(struct card *card, struct world *world, const struct workload *workload, const struct run *run)
{
    struct device_costs mine = device_costs(workload_costs(workload));
    struct device_costs *all = memory_new((size_t)card->ranks, sizeof *all);
    world_gather(world, &mine, sizeof mine, all);
    if (world_rank(world) == 0) {
        card->alone = card->together = local_of(&all[0]);
        card->relative_jitter = all[0].jitter;
        double first = local_step(&card->alone, workload_usual(workload, run));
        for (int rank = 0; rank < card->ranks; rank++) {
            struct local_cost cost = local_of(&all[rank]);
            double times = first > 0 ? local_step(&cost, workload_usual(workload, run)) / first : 1;
            card->place[rank] = (struct card_place){ .host = index_of_host(all, card, rank),
                                                     .cores = (short)all[rank].cores,
                                                     .parallel_capacity = (float)all[rank].parallel_capacity,
                                                     .slowdown = (float)(times * all[rank].slowdown) };
        }
    }
    free(all);
}

struct memory_estimate calibrate_memory(const struct workload *workload, const struct run *run,
                                        const struct card_uses *uses)
{
    double swept = run->ranks * collective_costs_memory(uses, workload_gradient_bytes(workload)),
           copies = run->ranks * machine_probes_bytes(); /* at most: only ranks with a core copy */
    struct memory_estimate steps =
        memory_estimate_times(shape_bench_memory(workload, run, shape_bench_shapes(workload)), run->ranks);
    steps.of[MEMORY_MESSAGES] += swept;
    return memory_estimate_most((struct memory_estimate){ .of = { [MEMORY_MESSAGES] = copies } }, steps);
}

struct check_failures calibrate(struct card *card, struct world *world, const struct workload *workload,
                                const struct run *run, const struct card_uses *uses)
{
    refuse_many_shapes(workload);
    *card = (struct card){ .ranks = world_size(world),
                           .cores = world_cores(world),
                           .transfer_core = world_is_simulated() ? 0 : 1 };
    if (device_computes())
        cores_name(card->cpu, CARD_NAME);
    else
        snprintf(card->cpu, CARD_NAME, "costs of platform %s", world_platform());
    if (world_rank(world) == 0)
        machine_probes_measure_clock(card);
    world_park(world);
    /* Simulated ranks share neither memory nor kernel, so one measures. The bench opens later: this takes much memory itself. */
    struct world *part = world_first(world, world_is_simulated() ? 1 : card_busy_ranks(card));
    if (part) {
        machine_probes_measure_memory(card, part);
        world_leave(part);
    }
    world_park(world);
    struct bench bench = bench_open(workload, run, world);
    if (device_computes()) {
        measure_steps(card, &bench);
    } else {
        read_costs(card, world, workload, run);
    }
    struct check_failures wrong = measure_uses(card, &bench, world, uses);
    bench_close(&bench);
    return wrong;
}

bool calibrate_agrees(const struct card *card, struct world *world, const struct workload *workload,
                      const struct run *run)
{
    if (!device_computes())
        return true; /* the card was made from the platform file */
    int ranks = world_size(world);
    bool are_alone = ranks > card->cores; /* predictions then use the times of one rank alone */
    double mine = 0, mean = 0;
    world_park(world);
    if (!are_alone || world_rank(world) == 0) {
        struct bench bench = bench_open(workload, run, world);
        struct lap laps[MEASURED_STEPS];
        struct work work = measure_laps(&bench, 0, laps, world_is_simulated() && !are_alone ? world : NULL);
        struct local_cost cost = card_local(card, ranks);
        mine = typical_lap(laps).passes / cost_at(&cost.passes, work);
        bench_close(&bench);
    }
    world_park(world);
    double *all = memory_new((size_t)ranks, sizeof *all);
    world_gather(world, &mine, sizeof mine, all);
    for (int rank = 0; rank < ranks; rank++)
        mean += all[rank] / (are_alone ? 1 : ranks);
    free(all);
    int agrees = fabs(mean - 1) <= DRIFT;
    world_broadcast(world, &agrees, sizeof agrees);
    return agrees;
}
