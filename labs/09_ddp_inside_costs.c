/* 09_ddp_inside_costs: what lab 09 adds to the machine card: what ranks do to gradients, hashing parameters, and what simulated ranks lose
 * where sums start. */
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

/* all: return what this rank computes in a step, in seconds: all but its sums, by the reducer, or one sum that it waits for. */
static double computing_seconds(const struct own_where *where, struct collective *collective, struct reducer *reducer)
{
    const struct trainer *trainer = shape_bench_trainer(where->steps);
    world_barrier(where->together);
    const double began = world_now();
    shape_bench_fetch(where->steps);
    shape_bench_forward(where->steps);
    shape_bench_hooked_backward(where->steps, reducer ? reducer_hooks(reducer) : (struct model_hooks){ 0 });
    device_wait();
    const double ready = world_now();
    if (reducer)
        reducer_finish(reducer);
    else
        collective_run(collective, all_reduce(TYPE_F32, trainer->gradients, trainer->gradients, trainer->count));
    const double summed = world_now();
    shape_bench_update(where->steps);
    device_wait();
    return world_now() - summed + ready - began;
}

/* Return by how much longer this rank computes in a step of small buckets, which start after each layer or all after backward, than with
 * one sum that it waits for: simulated ranks compute one after another, so the others, and the copies of sums, meanwhile fill the
 * caches. A median; 0 for real ranks. */
static double measure_starts(const struct own_where *where, int start_late)
{
    enum { REPEATS = 3, STEPS = 2 }; /* the first finds the caches of another way */
    const int repeats = card_times(REPEATS);
    double longer[REPEATS];
    if (!world_is_simulated() || world_size(where->together) == 1)
        return 0;
    struct collective *collective = collective_open(where->together, NULL);
    struct reducer *reducer = reducer_open(shape_bench_trainer(where->steps)->model, world_size(where->together));
    const size_t floats = (size_t)(DDP_FIRST / sizeof(float));
    reducer_restart(reducer, collective,
                    &(struct reducer_settings){ .first = floats, .most = floats, .in_model_order = start_late });
    for (int i = 0; i < repeats; i++) {
        double whole = 0, buckets = 0;
        for (int step = 0; step < STEPS; step++)
            whole = computing_seconds(where, collective, NULL);
        for (int step = 0; step < STEPS; step++)
            buckets = computing_seconds(where, collective, reducer);
        longer[i] = buckets - whole;
    }
    reducer_close(reducer);
    collective_close(collective);
    return stats_quantile(longer, repeats, 0.5);
}

const struct own_cost own_costs[] = {
    STARTED_SMALL_COSTS,
    STARTED_MIDDLE_COSTS,
    ADDING_COSTS,
    ROUNDING_COSTS,
    { STARTED_EARLY_COST, OWN_COLLECTIVE, "", "us", 1e6, 0, measure_starts, false },
    { STARTED_LATE_COST, OWN_COLLECTIVE, "", "us", 1e6, 0, measure_starts, true },
    { HASH_COST, OWN_SECONDS, "hashing a MB of parameters", "us", 1e12, 8 << 20, measure_hash, 0 },
    { 0 },
};
