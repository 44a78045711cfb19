#include "card/gradient_costs.h"

#include "base/memory.h"
#include "base/stats.h"
#include "card/brief.h"
#include "card/card.h"
#include "collective/collective.h"
#include "device/device.h"
#include "model/workload.h"
#include "world/world.h"

#include <math.h>
#include <stdlib.h>

enum { REPEATS = 3, SUMS_MOST = 8 };

/* --- adding and rounding ------------------------------------------------------------------------------------------- */

/* Arrays of a rank on which the costs are measured. */
struct arrays {
    size_t count;
    float *weights, *gradients; /* (count) */
    float *total;               /* (count) to copy to and to add to */
    uint16_t *narrow;           /* (count) to round */
};

static float *filled(size_t count)
{
    float *values = device_new(MEMORY_MEASURING, count, sizeof *values);
    device_fill(values, 1, count);
    return values;
}

static void work_on(const struct arrays *a, enum gradient_work work)
{
    switch (work) {
    case GRADIENT_COPY:
        device_scale(a->total, a->gradients, 1, a->count);
        break;
    case GRADIENT_ADD:
        device_add(a->total, a->gradients, a->count);
        break;
    case GRADIENT_ROUND:
    case GRADIENT_ROUND_LARGE:
        device_narrow(a->narrow, a->gradients, a->count);
        device_widen(a->gradients, a->narrow, a->count);
        break;
    }
}

/* Gradients as backward leaves them: it has read the weights and written the gradients, which lie in caches as far as these reach. A
 * large message comes from memory: the work before it has filled the caches with other bytes. */
static double measure_once(const struct arrays *a, enum gradient_work work)
{
    if (work != GRADIENT_ROUND_LARGE)
        device_scale(a->gradients, a->weights, 1, a->count);
    device_wait();
    const double began = world_now();
    work_on(a, work);
    device_wait();
    return world_now() - began;
}

double gradient_measure(const struct own_where *where, int which)
{
    (void)where;
    const enum gradient_work work = (enum gradient_work)which;
    const size_t most = GRADIENT_BYTES_MOST / sizeof(float), own = workload_parameters(where->workload);
    struct arrays a = { .count = work == GRADIENT_ROUND_LARGE ? card_size(LARGE_BYTES) / sizeof(float)
                                 : own < most                 ? own
                                                              : most };
    a.gradients = filled(a.count);
    a.weights = work != GRADIENT_ROUND_LARGE ? filled(a.count) : NULL;
    const bool is_rounded = work == GRADIENT_ROUND || work == GRADIENT_ROUND_LARGE;
    a.total = is_rounded ? NULL : filled(a.count);
    a.narrow = is_rounded ? device_new(MEMORY_MEASURING, a.count, sizeof *a.narrow) : NULL;
    double seconds[REPEATS];
    const int repeats = card_times(REPEATS);
    measure_once(&a, work); /* takes the memory's pages */
    for (int i = 0; i < repeats; i++)
        seconds[i] = measure_once(&a, work);
    device_free(a.narrow);
    device_free(a.total);
    device_free(a.weights);
    device_free(a.gradients);
    return stats_quantile(seconds, repeats, 0.5) / (double)(a.count * sizeof(float));
}

/* Seconds of a row's work on `bytes`. Without a measurement those of copying `moved` bytes for each. */
static double cost_of(const struct card *card, const char *name, double bytes, double moved)
{
    const double seconds = card_cost(card, name);
    return bytes * (isnan(seconds) ? moved / card->copy_bandwidth : seconds);
}

/* The first gradients are copied, the others added: two and three arrays read or written. A core reads a line before it writes to it, so
 * that a copy may take as long. */
double adding_seconds(const struct card *card, double bytes, int micro_batches)
{
    if (micro_batches <= 1)
        return 0;
    return cost_of(card, "copy_byte_s", bytes, 2) + (micro_batches - 1) * cost_of(card, "add_byte_s", bytes, 3);
}

/* 4 bytes read and 2 written, 2 read and 4 written, for each 4. */
double rounding_seconds(const struct card *card, double bytes)
{
    return cost_of(card, "round_byte_s", bytes, 3);
}

double rounding_large_seconds(const struct card *card, double bytes)
{
    return cost_of(card, "round_large_byte_s", bytes, 3);
}

/* --- sums of bf16, and of new memory ------------------------------------------------------------------------------- */

double seconds_of_last(struct world *together, double mine)
{
    const int ranks = world_size(together);
    double *all = memory_new((size_t)ranks, sizeof *all), least = INFINITY;
    world_allgather(together, &mine, sizeof mine, all);
    for (int rank = 0; rank < ranks; rank++)
        least = fmin(least, all[rank]);
    free(all);
    return least;
}

/* Write `values`, whose bytes are of this type, and sum them at once. Return this rank's seconds of the sum. */
static double sum_seconds(struct world *together, struct collective *collective, enum element_type type, float *values,
                          size_t bytes)
{
    const size_t count = bytes / (type == TYPE_BF16 ? sizeof(uint16_t) : sizeof *values);
    device_fill(values, 0, bytes / sizeof *values);
    device_wait();
    world_barrier(together);
    const double began = world_now();
    collective_run(collective, all_reduce(type, values, values, count));
    device_wait();
    return world_now() - began;
}

/* Return the seconds per byte that a sum takes beyond one of kept floats. Both take turns. A median of this rank's differences. 0: a rank
 * alone sums nothing. */
static double more_than_floats(const struct own_where *where, enum element_type type, bool is_fresh)
{
    const int ranks = world_size(where->together), repeats = card_times(REPEATS);
    const size_t bytes = card_size(LARGE_BYTES) / 2;
    double seconds[REPEATS];
    if (ranks == 1)
        return 0;
    float *kept = device_new(MEMORY_MEASURING, bytes, 1);
    struct collective *collective = collective_open(where->together, NULL);
    for (int i = -1; i < repeats; i++) {
        const double usual = sum_seconds(where->together, collective, TYPE_F32, kept, bytes);
        float *values = is_fresh ? device_map(MEMORY_MEASURING, bytes) : kept;
        const double took = sum_seconds(where->together, collective, type, values, bytes);
        if (is_fresh)
            device_unmap(values, bytes);
        if (i >= 0)
            seconds[i] = took - usual;
    }
    collective_close(collective);
    device_free(kept);
    return fmax(0, stats_quantile(seconds, repeats, 0.5)) / (double)bytes;
}

double bf16_sum_measure(const struct own_where *where, int which)
{
    (void)which;
    return more_than_floats(where, TYPE_BF16, false);
}

double fresh_sum_measure(const struct own_where *where, int which)
{
    (void)which;
    return more_than_floats(where, TYPE_F32, true);
}

double bf16_sum_seconds(const struct card *card, int ranks, double bytes)
{
    const double more = card_cost(card, "bf16_sum_byte_s");
    return ranks > 1 ? card_allreduce(card, ranks, bytes) + (isnan(more) ? 0 : bytes * more) : 0;
}

double fresh_sum_seconds(const struct card *card, int ranks, double bytes)
{
    const double more = card_cost(card, "fresh_sum_byte_s");
    return ranks > 1 && more > 0 ? bytes * more : 0;
}

/* --- started sums -------------------------------------------------------------------------------------------------- */

/* Sizes between those of the buckets, which are predicted: of the rows in their order. */
enum { SIZES = 7 };
static const double sizes[SIZES] = { 4 << 10, 96 << 10, 768 << 10, 3 << 20, 6 << 20, 16 << 20, 24 << 20 };
static const struct own_cost rows[SIZES] = { STARTED_SMALL_COSTS, STARTED_MIDDLE_COSTS, STARTED_LARGE_COSTS };

/* Return the seconds that one of several sums takes, started together as a reducer does, on the rank that begins last.
 * Their parts lie apart in an array that no cache near a core holds: gradients do not wait in a cache either. A median. */
double started_measure(const struct own_where *where, int which)
{
    const int ranks = world_size(where->together), repeats = card_times(REPEATS);
    const size_t count = card_size((size_t)sizes[which]) / sizeof(float),
                 all = card_size((size_t)rows[which].bytes) / sizeof(float);
    const int sums = all / count < SUMS_MOST ? (int)(all / count) : SUMS_MOST;
    double seconds[REPEATS];
    if (ranks == 1)
        return 0;
    float *terms = device_new(MEMORY_MEASURING, all, sizeof *terms);
    struct collective *collective = collective_open(where->together, NULL);
    for (int i = -1; i < repeats; i++) {
        int ticket[SUMS_MOST];
        device_fill(terms, 0, all);
        device_wait();
        world_barrier(where->together);
        const double began = world_now();
        for (int k = 0; k < sums; k++) {
            float *part = terms + (size_t)k * (all / (size_t)sums);
            ticket[k] = collective_start(collective, all_reduce(TYPE_F32, part, part, count));
        }
        for (int k = 0; k < sums; k++)
            collective_finish(collective, ticket[k]);
        device_wait();
        const double took = seconds_of_last(where->together, world_now() - began);
        if (i >= 0)
            seconds[i] = took / sums;
    }
    collective_close(collective);
    device_free(terms);
    return stats_quantile(seconds, repeats, 0.5);
}

double started_seconds(const struct card *card, int ranks, double bytes)
{
    double size[SIZES], seconds[SIZES];
    int known = 0, above = 1;
    for (int i = 0; i < SIZES; i++) {
        size[known] = sizes[i];
        seconds[known] = card_cost(card, rows[i].name);
        known += seconds[known] > 0; /* 0: one rank measured alone, as simulated ranks do; NaN: not a row of this lab */
    }
    if (known < 2 || !card_is_measured(card) || card_busy_ranks(card) != ranks)
        return card_allreduce(card, ranks, bytes);
    while (above < known - 1 && bytes > size[above])
        above++;
    const double slope = (seconds[above] - seconds[above - 1]) / (size[above] - size[above - 1]);
    return fmax(0, seconds[above] + slope * (bytes - size[above]));
}
