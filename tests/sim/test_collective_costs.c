/* test_collective_costs.c: compare the machine card with collectives of sizes that it has not measured: every kind, in groups
 * within a host and across hosts, alone and beside their siblings. Each call is timed here by the world's clock, without the card's
 * sweep.
 *
 * usage: test_collective_costs PLATFORM|here TABLE right|wrong; starts two real ranks, or up to 16 simulated ones. Prints a line
 * per kind and group, and writes every size to TABLE. `wrong` makes the card's times 3 % too long, so that the comparison must fail
 * on a simulated machine. */
#include "base/csv.h"
#include "base/die.h"
#include "base/memory.h"
#include "base/stats.h"
#include "card/calibrate.h"
#include "card/sweep.h"
#include "collective/collective.h"
#include "device/device.h"
#include "launch/flight_recorder.h"
#include "launch/job.h"
#include "launch/launch.h"
#include "launch/platform.h"
#include "model/shape_bench.h"
#include "world/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of one rank's part, none of which the card measures. A part of each is a multiple of 4 among up to 32 ranks: an all-reduce
 * by ring of other sizes has a second all-reduce for the rest. None lies between 2 and 4 KiB, where SMPI begins to wait for
 * receivers. */
enum { SIZES = 8, GROUPS = 5 };
static const double largest_buffer = 12001280,
                    held_out[SIZES] = { 512, 6144, 20480, 102400, 614400, 2048000, 4505600, 12001280 };

/* A modelled machine repeats exactly, and its costs are lines between two jumps: nearly all sizes are found within 1 %. One
 * size was off by 4.6 %, an all-reduce of 20 kB among 8 ranks: in its range of sizes the jump lies between measured ones. */
static const double worst_modelled = 0.05, typical_modelled = 0.02;

/* Real ranks share this machine with other programs, so only a factor counts. A barrier takes a microsecond where no rank loses its
 * core meanwhile, so it must only be shorter than a few such losses. A disturbed comparison is repeated. */
static const double typical_real = 3, barrier_real_s = 20e-3;
enum { ATTEMPTS = 6 };

static struct world *world;

/* Training of real ranks between two calls, so that caches and arrivals are as on the card. */
static struct run run;
static struct shape_bench *bench;
static const struct workload workload = { .type = &mlp_type, .of.mlp = { 64, 64, 64, 3 } }; /* small */

/* List the groups of `ranks` ranks: all; half of them, which are neighbours, alone and both halves at once; and pairs half the
 * ranks apart. With the ranks of two hosts, halves are within a host and pairs across. Return their number. */
static int list_groups(int ranks, struct card_group groups[GROUPS])
{
    const int half = ranks / 2;
    const struct card_group all[GROUPS] = {
        first_ranks(ranks), { half, 1, false }, { half, 1, true }, { 2, half, false }, { 2, half, true }
    };
    memcpy(groups, all, sizeof all);
    return half > 1 ? GROUPS : 1;
}

/* --- what is found ---------------------------------------------------------------------------------------------- */

struct stamps {
    double start, end;
};

static double bytes_of(const struct collective_use *use, int size)
{
    return use->kind == BARRIER ? 0 : held_out[size];
}

/* Let all ranks begin at the same time of a simulated clock. Real ranks train a little after a barrier, so that they arrive as in a
 * training step, one a little later than the other. */
static void start_together(void)
{
    double when = world_now() + 0.1;
    world_broadcast(world, &when, sizeof when);
    if (world_is_simulated()) {
        world_sleep(when - world_now());
        return;
    }
    world_barrier(world);
    shape_bench_between_sums(bench);
}

/* Return the seconds from the last start in a group to the mean rank's end, over the ranks of all groups; stamps (ranks). */
static double seconds_of(const struct stamps *stamps, struct card_group shape)
{
    const int ranks = world_size(world);
    double sum = 0;
    int count = 0;
    for (int rank = 0; rank < ranks; rank++) {
        const int group = card_group_of(shape, rank, ranks);
        double latest = stamps[rank].start;
        for (int other = 0; other < ranks; other++)
            if (card_group_of(shape, other, ranks) == group)
                latest = fmax(latest, stamps[other].start);
        sum += group < 0 ? 0 : fmax(0, stamps[rank].end - latest);
        count += group >= 0;
    }
    return sum / count;
}

struct buffers {
    char *all, *received;
};

static struct collective_op op_of(enum collective_kind kind, const struct group *group, size_t count, struct buffers b)
{
    const int rank = group_rank(group), ranks = group_size(group), next = (rank + 1) % ranks,
              before = (rank + ranks - 1) % ranks;
    char *own = b.all + (size_t)rank * count * sizeof(float);
    const struct collective_op ops[COLLECTIVE_KINDS] = {
        [ALL_REDUCE] = all_reduce(TYPE_F32, b.all, b.all, count),
        [ALL_GATHER] = all_gather(TYPE_F32, own, b.all, count),
        [REDUCE_SCATTER] = reduce_scatter(TYPE_F32, b.all, own, count),
        [BROADCAST] = broadcast(TYPE_F32, 0, b.all, b.all, count),
        [SEND_RECEIVE] = send_receive(TYPE_F32, next, b.all, before, b.received, count),
        [BARRIER] = barrier(),
    };
    return in_group(group, ops[kind]);
}

/* Return the seconds of a collective, on rank 0. `group` is NULL on ranks that do not take part. */
static double find_once(struct collective *c, const struct collective_use *use, const struct group *group, double bytes,
                        struct buffers buffers)
{
    struct stamps *all = memory_new((size_t)world_size(world), sizeof *all);
    start_together();
    struct stamps mine = { .start = world_now() };
    if (group)
        collective_run(c, op_of(use->kind, group, (size_t)(bytes / sizeof(float)), buffers));
    mine.end = world_now();
    world_gather(world, &mine, sizeof mine, all);
    const double seconds = world_rank(world) == 0 ? seconds_of(all, use->group) : 0;
    free(all);
    return seconds;
}

/* Find the median seconds of each held-out size of a collective, on rank 0. Sizes take turns, as on the card, so that a call finds in the
 * caches what another size has left there. Return the number of sizes. */
static int find_seconds(struct collective *c, const struct collective_use *use, const struct group *group,
                        struct buffers buffers, double seconds[SIZES])
{
    enum { REPEATS = 15 };
    const int repeats = world_is_simulated() ? 1 : REPEATS;
    double found[SIZES][REPEATS];
    int sizes = 0;
    while (sizes < SIZES && held_out[sizes] <= use->bytes)
        sizes++;
    for (int i = -!world_is_simulated(); i < repeats; i++) /* real ranks warm up */
        for (int size = 0; size < sizes; size++)
            found[size][i < 0 ? 0 : i] = find_once(c, use, group, bytes_of(use, size), buffers);
    for (int size = 0; size < sizes; size++)
        seconds[size] = stats_quantile(found[size], repeats, 0.5);
    return sizes;
}

/* --- the comparison --------------------------------------------------------------------------------------------- */

static void write_row(struct csv *csv, const struct card *card, const struct collective_use *use, double bytes,
                      double predicted, double found)
{
    do {
        csv_text(csv, "platform", world_platform());
        csv_text(csv, "kind", collective_names[use->kind]);
        csv_integer(csv, "ranks", use->group.ranks);
        csv_integer(csv, "stride", use->group.stride);
        csv_integer(csv, "with_siblings", use->group.with_siblings);
        csv_integer(csv, "hosts", card_group_hosts(card, use->group));
        csv_number(csv, "bytes", bytes);
        csv_ms(csv, "predicted_ms", predicted);
        csv_ms(csv, "found_ms", found);
        csv_ratio(csv, "predicted_to_found", predicted / found);
    } while (csv_end_row(csv));
}

/* On rank 0: print the errors (count) of a use, and return true if they are small enough. */
static bool judge(const struct card *card, const struct collective_use *use, const double *ratios, int count)
{
    double worst = 1, logs[SIZES];
    for (int i = 0; i < count; i++) {
        logs[i] = log(ratios[i]);
        worst = fabs(log(ratios[i])) > fabs(log(worst)) ? ratios[i] : worst;
    }
    const double typical = exp(stats_quantile(logs, count, 0.5));
    bool is_right = fabs(log(typical)) <= log(typical_real);
    if (use->kind == BARRIER)
        is_right |= card_collective(card, BARRIER, use->group, 0) <= barrier_real_s;
    if (world_is_simulated())
        is_right = fabs(typical - 1) <= typical_modelled && fabs(worst - 1) <= worst_modelled;
    printf("%-18s %-14s %4d %6d %8s %5d   %7.4f   %7.4f%s\n", world_platform(), collective_names[use->kind],
           use->group.ranks, use->group.stride, use->group.with_siblings ? "all" : "one",
           card_group_hosts(card, use->group), typical, worst, is_right ? "" : "   <- wrong");
    return is_right;
}

static bool compare_use(const struct card *card, struct collective *c, const struct collective_use *use,
                        const struct group *group, struct buffers buffers, struct csv *csv)
{
    double ratios[SIZES], found[SIZES];
    const int sizes = find_seconds(c, use, group, buffers, found);
    for (int size = 0; size < sizes; size++) {
        const double bytes = bytes_of(use, size), predicted = card_collective(card, use->kind, use->group, bytes);
        ratios[size] = predicted / found[size];
        if (csv)
            write_row(csv, card, use, bytes, predicted, found[size]);
    }
    return csv ? judge(card, use, ratios, sizes) : true;
}

/* all: measure a card with every kind in every group. */
static struct card measure_card(const struct card_uses *uses)
{
    struct card card;
    struct check_failures wrong = calibrate(&card, world, &workload, &run, uses);
    if (wrong.count > 0)
        die(STATUS_WRONG, "%d failed checks; the first: %s", wrong.count, wrong.first);
    return card;
}

static double dispatch(const struct own_where *where, int which)
{
    (void)where, (void)which;
    return 7e-6;
}

/* A lab's own cost: measured on real ranks, a property of the hosts of a modelled machine. */
static const struct own_cost own[] = { { "dispatch_s", OWN_SECONDS, "a dispatch takes", "us", 1e6, 0, dispatch, 0 },
                                       { 0 } };

static void check_own(const struct card *card)
{
    const char *property = world_property("own_dispatch_s");
    const double value = card_cost(card, "dispatch_s"), expected = device_computes() ? 7e-6
                                                                   : property        ? atof(property)
                                                                                     : (double)NAN;
    if (!(fabs(value - expected) < 1e-12) && !(isnan(value) && isnan(expected)))
        die(STATUS_WRONG, "a dispatch takes %g s on the card, not %g s", value, expected);
}

static void make_wrong(struct card *card)
{
    for (int i = 0; i < card->collectives.count; i++) {
        struct alpha_beta *cost = &card->collectives.at[i].cost;
        for (int point = 0; point < cost->points; point++)
            cost->seconds[point] *= 1.03;
        alpha_beta_fit(cost);
    }
}

/* all: compare all uses. Return the number of those that differ, on rank 0. */
static int compare(const struct card *card, const struct card_uses *uses, const char *table)
{
    const int rank = world_rank(world), ranks = world_size(world);
    struct csv csv = { .out = rank == 0 ? fopen(table, "w") : NULL };
    if (rank == 0 && !csv.out)
        die(STATUS_WRONG, "%s cannot be written", table);
    const size_t most = (size_t)largest_buffer;
    struct buffers buffers = { device_new(MEMORY_DATA, most, 1), device_new(MEMORY_DATA, most, 1) };
    struct collective *c = collective_open(world, NULL);
    const struct group *group = NULL;
    int wrong = 0;
    if (rank == 0)
        printf("%-18s %-14s %4s %6s %8s %5s   %7s   %7s\n", "platform", "kind", "of", "stride", "groups", "hosts",
               "typical", "worst");
    for (int i = 0; i < uses->count; i++) {
        const struct collective_use *use = &uses->at[i];
        if (i == 0 || !card_group_equals(use->group, uses->at[i - 1].group))
            group = collective_split(c, card_group_of(use->group, rank, ranks), rank);
        wrong += !compare_use(card, c, use, group, buffers, rank == 0 ? &csv : NULL);
    }
    collective_close(c);
    device_free(buffers.all);
    device_free(buffers.received);
    if (csv.out)
        fclose(csv.out);
    return wrong;
}

/* List every kind in every group. */
static struct card_uses list_uses(void)
{
    struct card_uses uses = { .own = own };
    struct card_group groups[GROUPS];
    for (int group = 0, count = list_groups(world_size(world), groups); group < count; group++)
        for (enum collective_kind kind = 0; kind < COLLECTIVE_KINDS; kind++) {
            const double largest = largest_buffer / sweep_parts(kind, groups[group].ranks);
            card_use(&uses, kind, groups[group], kind == BARRIER ? held_out[0] : largest);
        }
    return uses;
}

/* Return a power of two, so that all-reduces have parts of equal size: at most 16, and as many as the machine takes. */
static int ranks_of(const struct platform *platform)
{
    int ranks = 16;
    while (ranks > platform->slots)
        ranks /= 2;
    return ranks;
}

static int start(char *const *argv)
{
    const bool is_real = strcmp(argv[1], "here") == 0;
    struct platform platform;
    const char *lacks = is_real ? NULL : platform_lacks("test_collective_costs");
    if (lacks)
        die(STATUS_CANNOT, "%s", lacks);
    int ranks = 2;
    if (!is_real) { /* opened twice: first for the number of ranks that it takes */
        platform_open(&platform, argv[1], 1, STATUS_USAGE);
        ranks = ranks_of(&platform);
        platform_close(&platform);
        platform_open(&platform, argv[1], ranks, STATUS_USAGE);
    }
    char *program = is_real ? job_program() : platform_program(&platform, "test_collective_costs");
    int status = launch_ranks(&(struct launch){ .ranks = ranks,
                                                .cores = ranks,
                                                .timeout = 120,
                                                .program = program,
                                                .arguments = (const char *const[]){ argv[2], argv[3], NULL },
                                                .platform = is_real ? NULL : &platform });
    free(program);
    if (!is_real)
        platform_close(&platform);
    return status;
}

/* all: prepare the model that real ranks train between two calls. */
static void open_bench(void)
{
    run = run_published;
    run.ranks = world_size(world);
    run.batch_size = 4;
    bench = shape_bench_open(&workload, &run, 0, 1, NULL);
    shape_bench_fetch(bench);
    shape_bench_passes(bench);
}

int main(int argc, char **argv)
{
    if (!job_is_rank())
        return argc == 4 ? start(argv) : STATUS_USAGE;
    job_arguments(&argc, &argv);
    world = world_open(60);
    world_set_timeout(world, 120);
    device_open(world_rank(world), PRECISION_FP32);
    collective_begin(world, false, 0);
    open_bench();
    const struct card_uses uses = list_uses();
    int wrong = 1;
    for (int attempt = 0; wrong > 0 && attempt < (world_is_simulated() ? 1 : ATTEMPTS); attempt++) {
        struct card card = measure_card(&uses);
        check_own(&card);
        if (strcmp(argv[2], "wrong") == 0)
            make_wrong(&card);
        wrong = compare(&card, &uses, argv[1]);
        world_broadcast(world, &wrong, sizeof wrong);
    }
    if (wrong > 0)
        die(STATUS_WRONG, "%d of %d kinds and groups take other times than the card predicts", wrong, uses.count);
    shape_bench_close(bench);
    if (world_rank(world) == 0)
        flight_recorder_end(world_recorder(world));
    world_close(world);
    return STATUS_RIGHT;
}
