/* 03_comm_bound_costs: what lab 03 adds to the machine card: what ranks do to gradients and messages, and what a step loses because one has
 * filled the caches. */
#include "03_comm_bound.h"

/* all: return the seconds of what a rank computes from one sum of gradients to the next: update, fetch, forward and backward. `message`: a
 * sum of so many floats comes before; NULL: none. */
static double computing_seconds(const struct own_where *where, struct collective *collective, float *message,
                                size_t count)
{
    const struct trainer *trainer = shape_bench_trainer(where->steps);
    world_barrier(where->together);
    shape_bench_fetch(where->steps);
    shape_bench_passes(where->steps);
    device_wait();
    collective_run(collective, all_reduce(TYPE_F32, trainer->gradients, trainer->gradients, trainer->count));
    if (message)
        collective_run(collective, all_reduce(TYPE_F32, message, message, count));
    const double began = world_now();
    shape_bench_between_sums(where->steps);
    device_wait();
    return world_now() - began;
}

/* Return by how much longer a rank computes after a message. A median; 0 for one rank, and for simulated ones, whose turns leave no
 * caches as they were. */
static double measure_flushed(const struct own_where *where, int which)
{
    enum { REPEATS = 3 };
    const size_t count = card_size((size_t)FLUSHING_BYTES) / sizeof(float);
    const int repeats = card_times(REPEATS);
    double longer[REPEATS];
    (void)which;
    if (world_is_simulated() || world_size(where->together) == 1)
        return 0;
    float *message = device_new(MEMORY_MEASURING, count, sizeof *message);
    struct collective *collective = collective_open(where->together, NULL);
    device_fill(message, 0, count);
    for (int i = 0; i < repeats; i++) {
        longer[i] = computing_seconds(where, collective, message, count);
        longer[i] -= computing_seconds(where, collective, NULL, 0);
    }
    collective_close(collective);
    device_free(message);
    return stats_quantile(longer, repeats, 0.5);
}

const struct own_cost own_costs[] = {
    STARTED_MIDDLE_COSTS,
    STARTED_LARGE_COSTS,
    ROUNDING_COSTS,
    ROUNDING_LARGE_COSTS,
    BF16_SUM_COSTS,
    FRESH_SUM_COSTS,
    FRESH_COSTS,
    { FLUSHED_COST, OWN_SECONDS, "a step after a large message computes longer by", "us", 1e6, FLUSHING_BYTES,
      measure_flushed, 0 },
    { 0 },
};
