/* 09_ddp_inside_costs: what lab 09 adds to the machine card: started all-reduces. A library may start another program than its blocking
 * all-reduce: that of Open MPI, for one, takes longer. Simulated ranks run a started all-reduce as a blocking one. */
#include "09_ddp_inside.h"

#include <math.h>
#include <stdlib.h>

/* Sizes between those of the buckets, which are predicted. */
enum { SIZES = 6 };
static const double sizes[SIZES] = { 4 << 10, 96 << 10, 768 << 10, 3 << 20, 6 << 20, 24 << 20 };

/* Return the seconds that one of several sums takes, started together as a reducer does, from the last rank's start to this rank's
 * last end. Their parts lie apart in an array that no cache near a core holds: gradients do not wait in a cache either. A median. */
static double measure(struct world *together, int which)
{
    enum { REPEATS = 9, SUMS_MOST = 8 };
    const int ranks = world_size(together), repeats = card_times(REPEATS);
    const size_t count = (size_t)sizes[which] / sizeof(float), all = (size_t)sizes[SIZES - 1] / sizeof(float);
    const int sums = all / count < SUMS_MOST ? (int)(all / count) : SUMS_MOST;
    double seconds[REPEATS];
    if (ranks == 1)
        return 0;
    double *began = memory_new((size_t)ranks, sizeof *began);
    float *terms = device_new(all, sizeof *terms);
    struct collective *collective = collective_open(together, NULL);
    for (int i = -1; i < repeats; i++) {
        int ticket[SUMS_MOST];
        device_fill(terms, 0, all);
        device_wait();
        world_barrier(together);
        const double mine = world_now();
        for (int k = 0; k < sums; k++) {
            float *part = terms + (size_t)k * (all / (size_t)sums);
            ticket[k] = collective_start(collective, all_reduce(TYPE_F32, part, part, count));
        }
        for (int k = 0; k < sums; k++)
            collective_finish(collective, ticket[k]);
        device_wait();
        const double end = world_now();
        world_allgather(together, &mine, sizeof mine, began);
        double last = -INFINITY;
        for (int rank = 0; rank < ranks; rank++)
            last = fmax(last, began[rank]);
        if (i >= 0)
            seconds[i] = (end - last) / sums;
    }
    collective_close(collective);
    device_free(terms);
    free(began);
    return stats_quantile(seconds, repeats, 0.5);
}

/* Return the seconds of hashing a byte of device memory, as a median. */
static double measure_hash(struct world *together, int which)
{
    enum { REPEATS = 5, COUNT = 1 << 21 };
    (void)together, (void)which;
    double seconds[REPEATS];
    float *values = device_new(COUNT, sizeof *values);
    uint64_t hash = 0;
    device_fill(values, 1, COUNT);
    device_wait();
    for (int i = 0; i < REPEATS; i++) {
        const double began = world_now();
        hash ^= block_results_hash(values, COUNT);
        seconds[i] = world_now() - began;
    }
    device_free(values);
    return hash == 1 ? (double)NAN
                     : stats_quantile(seconds, REPEATS, 0.5) / (COUNT * sizeof *values); /* so that it is computed */
}

/* clang-format off */
const struct own_cost started_costs[] = {
    { "started_4k_s",   OWN_SECONDS, "a started sum of 4 KiB takes", "ms", 1e3, 24 << 20, measure, 0 },
    { "started_96k_s",  OWN_SECONDS, "... of 96 KiB",                "ms", 1e3, 24 << 20, measure, 1 },
    { "started_768k_s", OWN_SECONDS, "... of 768 KiB",               "ms", 1e3, 24 << 20, measure, 2 },
    { "started_3m_s",   OWN_SECONDS, "... of 3 MiB",                 "ms", 1e3, 24 << 20, measure, 3 },
    { "started_6m_s",   OWN_SECONDS, "... of 6 MiB",                 "ms", 1e3, 24 << 20, measure, 4 },
    { "started_24m_s",  OWN_SECONDS, "... of 24 MiB",                "ms", 1e3, 24 << 20, measure, 5 },
    { HASH_COST,        OWN_SECONDS, "hashing a MB of parameters",   "us", 1e12, 8 << 20,  measure_hash, 0 },
    { 0 },
};
/* clang-format on */

double started_seconds(const struct options *o, const struct card *card, double bytes)
{
    double seconds[SIZES];
    bool is_measured = card_is_measured(card) && card_busy_ranks(card) == o->run.ranks;
    for (int i = 0; i < SIZES; i++) { /* the first rows */
        seconds[i] = card_cost(card, started_costs[i].name);
        is_measured &= seconds[i] > 0; /* 0: one rank measured alone, as simulated ranks do */
    }
    if (!is_measured)
        return card_allreduce(card, o->run.ranks, bytes);
    if (bytes <= sizes[0])
        return seconds[0];
    int i = 1;
    while (i < SIZES - 1 && bytes > sizes[i])
        i++;
    return seconds[i - 1] + (seconds[i] - seconds[i - 1]) * (bytes - sizes[i - 1]) / (sizes[i] - sizes[i - 1]);
}
