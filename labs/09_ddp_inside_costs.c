/* 09_ddp_inside_costs: what lab 09 adds to the machine card: what ranks do to gradients, and hashing parameters. */
#include "09_ddp_inside.h"

#include <math.h>

/* Return the seconds of hashing a byte of device memory, as a median. */
static double measure_hash(const struct own_where *where, int which)
{
    enum { REPEATS = 5, COUNT = 1 << 21 };
    const size_t count = card_size(COUNT);
    (void)where, (void)which;
    double seconds[REPEATS];
    float *values = device_new(MEMORY_MEASURING, count, sizeof *values);
    uint64_t hash = 0;
    device_fill(values, 1, count);
    device_wait();
    for (int i = 0; i < REPEATS; i++) {
        const double began = world_now();
        hash ^= block_results_hash(values, count);
        seconds[i] = world_now() - began;
    }
    device_free(values);
    return hash == 1
               ? (double)NAN
               : stats_quantile(seconds, REPEATS, 0.5) / (double)(count * sizeof *values); /* so that it is computed */
}

const struct own_cost own_costs[] = {
    STARTED_SMALL_COSTS,
    STARTED_MIDDLE_COSTS,
    ADDING_COSTS,
    ROUNDING_COSTS,
    { HASH_COST, OWN_SECONDS, "hashing a MB of parameters", "us", 1e12, 8 << 20, measure_hash, 0 },
    { 0 },
};
