#include "card/sweep.h"

#include "analysis/timeline.h"
#include "base/memory.h"
#include "base/stats.h"
#include "collective/spans.h"
#include "device/device.h"
#include "world/clocks.h"
#include "world/hosts.h"
#include "world/world.h"

#include <math.h>
#include <stdlib.h>

static int sums_of(const struct sweep *sweep)
{
    return sweep->sizes * (sweep->way ? sweep->ways : 1);
}

/* Make the n-th sum of a round: all sizes of the first way, then all of the next. */
static void make_sum(struct collective *collective, const struct sweep *sweep, int n, float *terms)
{
    if (sweep->way) {
        const struct sweep_impl *way = &sweep->way[n / sweep->sizes];
        collective_all_reduce_by(collective, way->sum, way->argument);
    }
    collective_run(collective, all_reduce(TYPE_F32, terms, terms, (size_t)sweep->bytes[n % sweep->sizes] / sizeof(float)));
}

/* Make all calls. Each is a step of its own: a phase with the collective in it. The last call of a round is a barrier. */
static void make_calls(struct collective *collective, struct spans *spans, struct world *world,
                       const struct sweep *sweep, float *terms)
{
    for (int round = 0; round < sweep->warmups + sweep->repeats; round++)
        for (int call = 0; call <= sums_of(sweep); call++) {
            if (!sweep->between)
                world_barrier(world);
            spans_phase(spans, SPAN_BACKWARD, device_record_event());
            if (sweep->between)
                sweep->between(sweep->argument);
            if (call < sums_of(sweep))
                make_sum(collective, sweep, call, terms);
            else
                collective_run(collective, barrier());
            spans_end(spans, device_record_event());
            spans->step++;
        }
}

/* Return the median over repeats of the mean or last rank's transfer in a call; cells (repeats x calls, ranks). */
static double typical_transfer(const struct cell *cells, int call, const struct sweep *sweep, int ranks)
{
    double *transfer = memory_new((size_t)sweep->repeats, sizeof *transfer);
    for (int repeat = 0; repeat < sweep->repeats; repeat++)
        for (int rank = 0; rank < ranks; rank++) {
            double of_rank = cells[(repeat * (sums_of(sweep) + 1) + call) * ranks + rank].transfer;
            transfer[repeat] = sweep->until_last ? fmax(transfer[repeat], of_rank) : transfer[repeat] + of_rank / ranks;
        }
    double typical = fmax(1e-9, stats_quantile(transfer, sweep->repeats, 0.5));
    free(transfer);
    return typical;
}

double sweep_largest(struct world *world)
{
    const int ranks = world_size(world);
    double fits = device_computes() ? memory_available() / 4 / ranks : INFINITY;
    if (hosts_count(world) == 1) {
        world_broadcast(world, &fits, sizeof fits);
        return fits;
    }
    double *all = memory_new((size_t)ranks, sizeof *all); /* hosts may have less memory than the first rank's */
    world_allgather(world, &fits, sizeof fits, all);
    for (int rank = 0; rank < ranks; rank++)
        fits = fmin(fits, all[rank]);
    free(all);
    return fits;
}

int sweep_sizes(struct world *world, double most, double *bytes)
{
    int sizes = 0;
    double fits = sweep_largest(world);
    for (double size = 4; size <= fmin(most, fmax(fits, 4)) && sizes < SWEEP_SIZES_MOST; size *= 4)
        bytes[sizes++] = size;
    return sizes;
}

void sweep_measure(struct world *world, const struct sweep *sweep, double *seconds, double *barrier)
{
    int ranks = world_size(world), calls = sums_of(sweep) + 1;
    double most = 0;
    for (int i = 0; i < sweep->sizes; i++)
        most = fmax(most, sweep->bytes[i]);
    float *terms = device_new((size_t)most, 1); /* zeros, as are their sums */
    struct spans spans;
    spans_open(&spans, 4 * calls * (sweep->warmups + sweep->repeats));
    spans_restart(&spans, 0, 0);
    struct collective *collective = collective_open(world, &spans);
    struct clocks clocks;
    clocks_begin(&clocks, world);
    make_calls(collective, &spans, world, sweep, terms);
    collective_close(collective);
    device_free(terms);

    spans_resolve(&spans);
    clocks_end(&clocks, world);
    spans_translate(&spans, &clocks);
    struct span *all = memory_new((size_t)spans.count * (size_t)ranks, sizeof *all);
    world_gather(world, spans.at, (size_t)spans.count * sizeof *spans.at, all);
    if (world_rank(world) == 0) {
        struct timeline timeline = { .ranks = ranks,
                                     .clock_error = clocks.disagree,
                                     .first_step = calls * sweep->warmups,
                                     .steps = calls * sweep->repeats,
                                     .count = spans.count,
                                     .spans = all };
        struct cell *cells = memory_new((size_t)timeline.steps * (size_t)ranks, sizeof *cells);
        timeline_split(&timeline, cells);
        for (int i = 0; i < sums_of(sweep); i++)
            seconds[i] = typical_transfer(cells, i, sweep, ranks);
        if (barrier)
            *barrier = typical_transfer(cells, sums_of(sweep), sweep, ranks);
        free(cells);
    }
    free(all);
    spans_close(&spans);
}
