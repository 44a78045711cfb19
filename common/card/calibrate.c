#include "card/calibrate.h"

#include "base/cores.h"
#include "base/interference.h"
#include "base/memory.h"
#include "card/brief.h"
#include "card/laps.h"
#include "card/local_fit.h"
#include "card/machine_probes.h"
#include "card/probe.h"
#include "card/undisturbed.h"
#include "device/device.h"
#include "model/shape_bench.h"
#include "world/world.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* Turns in which the shapes are visited, so that each gets at least 5 laps and 0.3 s; visits of a probe that decides about an earlier card;
 * pairs of all-reduces of the gradients. */
enum { TURNS = 5, VISITS_TO_AGREE = 5, PAIRS = 3 };

/* Ranks with a model, and all its batch shapes. */
struct bench {
    const struct workload *workload;
    const struct run *run;
    struct world *world;
    struct shape_bench *shapes;
};

static struct bench bench_open(const struct workload *workload, const struct run *run, struct world *world)
{
    const int shapes = device_computes() ? shape_bench_shapes(workload) + 1 : 1;
    return (struct bench){
        .workload = workload, .run = run, .world = world, .shapes = shape_bench_open(workload, run, 0, shapes, NULL)
    };
}

static void bench_close(struct bench *bench)
{
    shape_bench_close(bench->shapes);
}

/* all of `together`, or this rank alone with NULL: measure the cost of a local step, and the usual batch beside it. The results are on
 * rank 0, with the times. */
static struct lap_times measure_cost(struct bench *bench, struct world *together, struct local_cost *cost,
                                     struct local_times *usual, struct fit_error *error)
{
    const int shapes = shape_bench_shapes(bench->workload);
    const unsigned terms = shape_bench_terms(bench->workload);
    const struct lap_plan plan = { .count = shapes + 1, .turns = TURNS };
    struct collective *sums = together ? laps_open_sums(together) : NULL;
    const struct lap_times times = laps_measure(bench->shapes, bench->world, together, sums, &plan);
    laps_close_sums(sums);
    if (world_rank(bench->world) == 0) {
        *cost = local_fit(&times, shapes, terms);
        *error = local_fit_error(&times, shapes, terms);
        *usual = times.mean[shapes];
    }
    return times;
}

/* all: measure rank 0 alone, then all ranks that have a core. Simulated ones compute one after another, and empty each other's caches. */
static void measure_steps(struct card *card, struct bench *bench)
{
    struct world *world = bench->world;
    struct card_reference *reference = &card->reference;
    world_park(world);
    const double queued = interference_run_queue_delay(), stolen = interference_steal_time(""), began = world_wall();
    if (world_rank(world) == 0)
        measure_cost(bench, NULL, &card->alone, &reference->alone, &reference->alone_error);
    world_park(world);
    struct world *part = card_busy_ranks(card) > 1 ? world_first(world, card_busy_ranks(card)) : NULL;
    if (part) {
        card->jitter =
            measure_cost(bench, part, &card->together, &reference->together, &reference->together_error).jitter;
        world_leave(part);
    }
    if (card_busy_ranks(card) == 1) {
        card->together = card->alone;
        reference->together = reference->alone;
        reference->together_error = reference->alone_error;
    }
    const double took = world_wall() - began;
    card->queued_share = (interference_run_queue_delay() - queued) / took;
    card->stolen_share = (interference_steal_time("") - stolen) / took;
    world_park(world);
}

/* Choose the usual batch, after which probes measure too: how much of the gradients is in the caches depends on it. Compute its
 * gradients. */
static void choose_batch(void *argument)
{
    struct bench *bench = argument;
    shape_bench_choose(bench->shapes, device_computes() ? shape_bench_shapes(bench->workload) : 0);
    shape_bench_fetch(bench->shapes);
    if (!device_computes()) /* a modelled machine has no caches, and passes would take its time */
        return;
    shape_bench_passes(bench->shapes);
    device_wait();
}

static void train_until_sum(void *argument)
{
    struct bench *bench = argument;
    shape_bench_between_sums(bench->shapes);
}

/* all: give every rank the card of rank 0. The reference and the brief sleeps of a modelled machine are empty, and would take simulated
 * time, as would the own costs of a lab that has none. */
static void share_card(struct card *card, struct world *world, bool has_own)
{
    world_broadcast(world, card, offsetof(struct card, reference));
    if (device_computes()) {
        world_broadcast(world, &card->reference, sizeof card->reference);
        world_broadcast(world, &card->sleeps, sizeof card->sleeps);
    }
    if (has_own)
        world_broadcast(world, &card->own, sizeof card->own);
}

/* all: return the seconds of all-reduces of the gradients as a probe finds them, on rank 0: all later probes are compared with this. What
 * others disturb is measured again; simulated transfers depend on no other program. */
static double undisturbed_transfer(struct probe *probe, struct world *world)
{
    const bool is_real = !world_is_simulated();
    const double began = world_wall();
    double seconds;
    bool is_disturbed;
    do
        seconds = probe_transfer(probe, is_real ? PAIRS : 1, &is_disturbed);
    while (undisturbed_again(is_real && !card_is_brief() && is_disturbed, began, world));
    return seconds;
}

/* all: measure all-reduces of the gradients like a later probe, if the lab's probes will. A modelled machine has no probes. */
static void measure_transfer(struct card *card, struct bench *bench, const struct card_uses *uses)
{
    if (!device_computes())
        return;
    bool is_lacking = card_lacks_transfer(card, uses); /* only rank 0 has all of the card */
    world_broadcast(bench->world, &is_lacking, sizeof is_lacking);
    if (!is_lacking)
        return;
    struct probe *probe =
        probe_open(card, bench->world, bench->workload, bench->run, shape_bench_trainer(bench->shapes));
    card->reference.transfer = undisturbed_transfer(probe, bench->world);
    probe_close(probe);
}

/* all: add what the card lacks. Between real collectives ranks train, so that caches and arrivals are as in a step.
 * Simulated collectives depend on neither. Then all ranks have the whole card. */
static struct check_failures measure_uses(struct card *card, struct bench *bench, struct world *world,
                                          const struct card_uses *uses)
{
    const bool is_real = !world_is_simulated();
    const struct collective_setting setting = { .gradient_bytes = workload_gradient_bytes(bench->workload),
                                                .prepare = choose_batch,
                                                .between = is_real ? train_until_sum : NULL,
                                                .argument = bench,
                                                .gradients =
                                                    is_real ? shape_bench_trainer(bench->shapes)->gradients : NULL };
    struct check_failures wrong = collective_costs_measure(&card->collectives, world, uses, &setting);
    if (uses->messages && !p2p_cost_is_known(&card->p2p))
        p2p_cost_measure(&card->p2p, world);
    if (device_computes()) {
        choose_batch(bench);
        own_costs_measure(&card->own, world, (struct own_where){ NULL, bench->workload, bench->run, bench->shapes },
                          card_busy_ranks(card), uses->own);
    } else {
        own_costs_read(&card->own, uses->own);
    }
    measure_transfer(card, bench, uses);
    share_card(card, world, uses->own != NULL);
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

static struct local_cost local_of(const struct device_costs *costs, struct work usual)
{
    const double forward = cost_at(&costs->pass[WORK_FORWARD], usual),
                 backward = cost_at(&costs->pass[WORK_BACKWARD], usual);
    struct local_cost local = { .fetch = costs->pass[WORK_FETCH], .update = costs->pass[WORK_UPDATE].term[COST_FIXED] };
    for (int term = 0; term < COST_TERMS; term++)
        local.passes.term[term] = costs->pass[WORK_FORWARD].term[term] + costs->pass[WORK_BACKWARD].term[term];
    local.forward_share = forward > 0 ? forward / (forward + backward) : 0;
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
        card->alone = card->together = local_of(&all[0], workload_usual(workload, run));
        card->relative_jitter = all[0].jitter;
        double first = local_step(&card->alone, workload_usual(workload, run));
        for (int rank = 0; rank < card->ranks; rank++) {
            struct local_cost cost = local_of(&all[rank], workload_usual(workload, run));
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
           copies = run->ranks * machine_probes_bytes(), /* at most: only ranks with a core copy */
        own = run->ranks * own_costs_bytes(uses->own), messages = uses->messages ? p2p_cost_bytes(run->ranks) : 0;
    struct memory_estimate steps = memory_estimate_times(
        memory_estimate_add(shape_bench_memory(workload, run, 0, shape_bench_shapes(workload) + 1),
                            probe_memory(workload, run)),
        run->ranks);
    steps.of[MEMORY_COMMUNICATION] += fmax(swept, fmax(own, messages));
    return memory_estimate_most((struct memory_estimate){ .of = { [MEMORY_COMMUNICATION] = copies } }, steps);
}

struct check_failures calibrate(struct card *card, struct world *world, const struct workload *workload,
                                const struct run *run, const struct card_uses *uses)
{
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

enum card_fit calibrate_again(struct card *card, struct world *world, const struct workload *workload,
                              const struct run *run, char why[CARD_NAME])
{
    struct probe *probe = card_is_brief() ? NULL : probe_open(card, world, workload, run, NULL);
    if (!probe)
        return CARD_FITS; /* it is not checked, or was made from the platform file */
    const struct undisturbed since = undisturbed_begin();
    struct card_probe now = probe_measure(probe, VISITS_TO_AGREE);
    if (!undisturbed(since, world) || now.sums_disturbed)
        now = card_probe_disturbed(card, now);
    probe_close(probe);
    const enum card_fit fit = card_fit_of(card, &now, why);
    if (fit == CARD_SCALES)
        *card = card_scaled(card, &now);
    else if (fit == CARD_SUMS_OUTDATED)
        *card = card_without_sums(card, now);
    return fit;
}
