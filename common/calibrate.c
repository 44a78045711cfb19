#include "calibrate.h"

#include "collective.h"
#include "cores.h"
#include "device.h"
#include "memory.h"
#include "spans.h"
#include "stats.h"
#include "timeline.h"
#include "trainer.h"
#include "world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WARMUP_STEPS = 2,
    MEASURED_STEPS = 7,
    REDUCE_REPEATS = 5,
};

static const double DRIFT = 0.15; /* a card that is further off is measured anew: baselines are predicted within 15 % */

/* A rank's own trainer, for as long as the card is measured, and the two batch sizes. */
struct bench {
    struct trainer trainer;
    int small, large;
};

static void bench_open(struct bench *bench, const struct run *run)
{
    int small = run->batch_size > 1 ? run->batch_size / 2 : 1;
    int large = run->batch_size + (run->batch_size + 1) / 2;
    *bench = (struct bench){ .small = small, .large = large > small ? large : small + 1 };
    struct run wide = *run; /* one rank draws a data set from which the larger batch can be dealt */
    wide.batch_size = bench->large;
    wide.ranks = 1;
    wide.steps = 1;
    bench->trainer = trainer_open(&wide, bench->large);
}

struct lap {
    double fetch, passes, update;
};

static void pass_over(struct bench *bench, const struct batch *batch)
{
    mlp_forward(bench->trainer.model, batch);
    for (int layer = MLP_LAYERS; layer-- > 0;)
        mlp_backward(bench->trainer.model, batch, layer);
}

static struct lap one_step(struct bench *bench)
{
    double t0 = world_now();
    const struct batch *batch = loader_next(bench->trainer.loader, (struct stall){ .kind = STALL_NONE });
    double t1 = world_now();
    pass_over(bench, batch);
    double t2 = world_now();
    adamw_update(bench->trainer.optimizer, mlp_parameters(bench->trainer.model), bench->trainer.sums);
    return (struct lap){ .fetch = t1 - t0, .passes = t2 - t1, .update = world_now() - t2 };
}

/* Where `meeting` is not NULL (all) its ranks meet before each lap. */
static void measure_laps(struct bench *bench, int samples, struct lap laps[MEASURED_STEPS], struct world *meeting)
{
    loader_restart(bench->trainer.loader, 0, samples, 0, 1.0f / (float)samples);
    for (int i = -WARMUP_STEPS; i < MEASURED_STEPS; i++) {
        if (meeting)
            world_barrier(meeting);
        struct lap lap = one_step(bench);
        if (i >= 0)
            laps[i] = lap;
    }
}

/* The median lap, part by part. */
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

static struct line line_through(const struct bench *bench, double small, double large)
{
    double slope = fmax(0, (large - small) / (bench->large - bench->small));
    return (struct line){ .fixed = small - slope * bench->small, .per_sample = slope };
}

static struct local_cost cost_of(const struct bench *bench, struct lap small, struct lap large)
{
    return (struct local_cost){ .fetch = line_through(bench, small.fetch, large.fetch),
                                .passes = line_through(bench, small.passes, large.passes),
                                .update = (small.update + large.update) / 2 };
}

static void measure_alone(struct card *card, struct bench *bench)
{
    struct lap small[MEASURED_STEPS], large[MEASURED_STEPS];
    measure_laps(bench, bench->small, small, NULL);
    measure_laps(bench, bench->large, large, NULL);
    card->alone = cost_of(bench, typical_lap(small), typical_lap(large));
}

/* Clock, sleep and memory of one rank. */
static void measure_machine(struct card *card)
{
    enum { STAMPS = 20000, KEPT = 200, SLEEPS = 5 };
    struct spans spans;
    spans_open(&spans, KEPT);
    double begin = world_now();
    for (int i = 0; i < STAMPS; i++) {
        if (i % KEPT == 0)
            spans_restart(&spans, 0, 0);
        spans_phase(&spans, SPAN_DATA, world_now());
    }
    card->stamp_cost = (world_now() - begin) / STAMPS;
    spans_close(&spans);
    double over[SLEEPS];
    for (int i = 0; i < SLEEPS; i++) {
        begin = world_now();
        world_sleep(10e-3);
        over[i] = world_now() - begin - 10e-3;
    }
    card->sleep_overshoot = fmax(0, stats_quantile(over, SLEEPS, 0.5));

    enum { COPIES = 5 };
    size_t bytes = 64u << 20; /* beyond the caches of one core */
    char *from = memory_new(bytes, 1), *to = memory_new(bytes, 1);
    double took[COPIES];
    for (int i = 0; i < COPIES; i++) {
        begin = world_now();
        memcpy(to, from, bytes);
        took[i] = world_now() - begin;
    }
    card->copy_bandwidth = 2 * (double)bytes / stats_quantile(took, COPIES, 0.5);
    free(from);
    free(to);
}

/* all: every rank steps at once and for itself. */
static void measure_together(struct card *card, struct bench *bench, struct world *world)
{
    int ranks = world_size(world);
    struct lap mine[2][MEASURED_STEPS];
    /* Simulated ranks compute in turns, from meeting to meeting, each with a cache that others have used meanwhile. */
    struct world *meeting = world_is_simulated() ? world : NULL;
    world_barrier(world);
    measure_laps(bench, bench->small, mine[0], meeting);
    world_barrier(world);
    measure_laps(bench, bench->large, mine[1], meeting);
    struct lap *all = memory_new((size_t)ranks, sizeof mine);
    world_gather(world, mine, sizeof mine, all);
    struct lap typical[2];
    memset(typical, 0, sizeof typical);
    double above[2 * MEASURED_STEPS]; /* the slowest rank of a step above the mean rank */
    for (int size = 0; world_rank(world) == 0 && size < 2; size++) {
        for (int rank = 0; rank < ranks; rank++) {
            struct lap lap = typical_lap(all + (2 * rank + size) * MEASURED_STEPS);
            typical[size].fetch += lap.fetch / ranks;
            typical[size].passes += lap.passes / ranks;
            typical[size].update += lap.update / ranks;
        }
        for (int i = 0; i < MEASURED_STEPS; i++) {
            double sum = 0, most = 0;
            for (int rank = 0; rank < ranks; rank++) {
                const struct lap *lap = &all[(2 * rank + size) * MEASURED_STEPS + i];
                double step = lap->fetch + lap->passes + lap->update;
                sum += step;
                most = fmax(most, step);
            }
            above[size * MEASURED_STEPS + i] = most - sum / ranks;
        }
    }
    card->together = cost_of(bench, typical[0], typical[1]);
    card->jitter = world_rank(world) == 0 ? stats_quantile(above, 2 * MEASURED_STEPS, 0.5) : 0;
    free(all);
}

/* Seconds of one of `calls` that were made in turn, one a step, cells (repeats x calls, ranks): the median over repeats of
 * the mean rank's. */
static double typical_transfer(const struct cell *cells, int call, int calls, int repeats, int ranks)
{
    double transfer[REDUCE_REPEATS] = { 0 };
    for (int repeat = 0; repeat < repeats; repeat++)
        for (int rank = 0; rank < ranks; rank++)
            transfer[repeat] += cells[(repeat * calls + call) * ranks + rank].transfer / ranks;
    return fmax(1e-9, stats_quantile(transfer, repeats, 0.5));
}

/* all of a sub-world: all-reduces of growing size, each after a real backward, so that caches and arrival are as in
 * training; simulated ones know neither, and need no repeating. The sizes that labs use (the gradients, 128 MiB) are left
 * out: they are predicted. The last of a round is a barrier. */
static void measure_link(struct link *link, struct bench *bench, struct world *world)
{
    static const double sizes[] = { 4, 4096, 32768, 262144, 1 << 20, 3 << 20, 6 << 20, 9 << 20, 16 << 20, 24 << 20 };
    enum { SIZES = sizeof sizes / sizeof *sizes, CALLS = SIZES + 1 };
    *link = (struct link){ .ranks = world_size(world), .points = SIZES };
    size_t most = (size_t)sizes[SIZES - 1] / sizeof(float);
    float *send = memory_new(most, sizeof *send), *receive = memory_new(most, sizeof *receive);
    struct spans spans;
    const int warmups = world_is_simulated() ? 0 : 1, repeats = world_is_simulated() ? 1 : REDUCE_REPEATS;
    spans_open(&spans, 4 * CALLS * (REDUCE_REPEATS + 1));
    struct collective *collective = collective_open(world, &spans);
    loader_restart(bench->trainer.loader, 0, bench->small, 0, 1.0f / (float)bench->small);
    const struct batch *batch = loader_next(bench->trainer.loader, (struct stall){ .kind = STALL_NONE });
    /* Sizes take turns, so that a slow moment of the machine does not fall on one of them. */
    for (int repeat = 0; repeat < warmups + repeats; repeat++)
        for (int call = 0; call < CALLS; call++) {
            spans_phase(&spans, SPAN_BACKWARD, world_now());
            if (!world_is_simulated())
                pass_over(bench, batch);
            if (call < SIZES)
                collective_sum(collective, WIRE_F32, send, receive, (size_t)sizes[call] / sizeof(float));
            else
                collective_barrier(collective);
            spans_end(&spans, world_now());
            spans.step++;
        }
    struct span *all = memory_new((size_t)spans.count * (size_t)world_size(world), sizeof *all);
    world_gather(world, spans.at, (size_t)spans.count * sizeof *spans.at, all);
    if (world_rank(world) == 0) {
        struct timeline timeline = { .ranks = link->ranks,
                                     .first_step = CALLS * warmups,
                                     .steps = CALLS * repeats,
                                     .count = spans.count,
                                     .spans = all };
        struct cell *cells = memory_new((size_t)timeline.steps * (size_t)link->ranks, sizeof *cells);
        timeline_split(&timeline, cells);
        for (int size = 0; size < SIZES; size++) {
            link->bytes[size] = sizes[size];
            link->seconds[size] = typical_transfer(cells, size, CALLS, repeats, link->ranks);
        }
        link->barrier = typical_transfer(cells, SIZES, CALLS, repeats, link->ranks);
        free(cells);
        link_fit(link);
    }
    free(all);
    collective_close(collective);
    spans_close(&spans);
    free(send);
    free(receive);
}

/* all */
static void measure_links(struct card *card, struct bench *bench, struct world *world, int fewest)
{
    int ranks = world_size(world);
    if (fewest < 2)
        fewest = fewest == 0 ? ranks : 2;
    for (int n = ranks; n > 1 && n >= fewest && card->links<CARD_LINKS_MOST; n = n> 2 ? (n + 1) / 2 : 1) {
        struct world *part = world_first(world, n);
        if (part) {
            measure_link(&card->link[card->links], bench, part);
            world_leave(part);
        }
        card->links++;
        world_rest(world);
    }
}

/* What a platform file says of its work, as the lines it follows: it is linear in the samples. */
static struct local_cost modelled_cost(void)
{
    const struct work none = { 0 }, one = { .samples = 1 };
    struct local_cost cost = { .fetch.fixed = device_pass_seconds(WORK_FETCH, none),
                               .passes.fixed =
                                   device_pass_seconds(WORK_FORWARD, none) + device_pass_seconds(WORK_BACKWARD, none),
                               .update = device_pass_seconds(WORK_UPDATE, none) };
    cost.fetch.per_sample = device_pass_seconds(WORK_FETCH, one) - cost.fetch.fixed;
    cost.passes.per_sample =
        device_pass_seconds(WORK_FORWARD, one) + device_pass_seconds(WORK_BACKWARD, one) - cost.passes.fixed;
    return cost;
}

void calibrate(struct card *card, struct world *world, const struct run *run, int fewest_ranks)
{
    *card = (struct card){ .ranks = world_size(world),
                           .cores = world_cores(world),
                           .transfer_core = world_is_simulated() ? 0 : 1 };
    if (device_computes())
        cores_name(card->cpu, CARD_NAME);
    else
        snprintf(card->cpu, CARD_NAME, "costs of platform %s", world_platform());
    struct bench bench;
    bench_open(&bench, run);
    if (device_computes()) {
        world_rest(world);
        if (world_rank(world) == 0)
            measure_alone(card, &bench);
        world_rest(world);
        measure_together(card, &bench, world);
    } else {
        card->alone = card->together = modelled_cost();
    }
    if (world_rank(world) == 0)
        measure_machine(card);
    world_rest(world);
    measure_links(card, &bench, world, fewest_ranks);
    trainer_close(&bench.trainer);
    world_broadcast(world, card, sizeof *card);
}

bool calibrate_agrees(const struct card *card, struct world *world, const struct run *run)
{
    if (!device_computes())
        return true; /* it was made from the platform file */
    int ranks = world_size(world);
    bool are_alone = ranks > card->cores; /* predictions then rest on what one rank does alone */
    double mine = 0, mean = 0;
    world_rest(world);
    if (!are_alone || world_rank(world) == 0) {
        struct bench bench;
        struct lap laps[MEASURED_STEPS];
        bench_open(&bench, run);
        measure_laps(&bench, bench.small, laps, world_is_simulated() && !are_alone ? world : NULL);
        mine = typical_lap(laps).passes / line_at((are_alone ? card->alone : card->together).passes, bench.small);
        trainer_close(&bench.trainer);
    }
    world_rest(world);
    double *all = memory_new((size_t)ranks, sizeof *all);
    world_gather(world, &mine, sizeof mine, all);
    for (int rank = 0; rank < ranks; rank++)
        mean += all[rank] / (are_alone ? 1 : ranks);
    free(all);
    int agrees = fabs(mean - 1) <= DRIFT;
    world_broadcast(world, &agrees, sizeof agrees);
    return agrees;
}
