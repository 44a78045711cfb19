/* 10_memory_costs: what lab 10 adds to the machine card: the seconds in which backward computes a block again, or its attention alone; and
 * those of a block's collectives, whose data was just written; and of moments in a file.
 *
 * A block is computed again beside its backward, so its weights and activations are in a cache, as forward's are not. And activations that
 * are not kept need not be written to memory and read from it, so what counts is how much longer both passes take: with backward's time
 * alone, on three blocks, all recomputing cost 20 % less than predicted (Intel Xeon, second cache of 2 MiB, 2026-11-28). Measured on a
 * model of DEPTH blocks; that of the cases has more. */
#include "10_memory.h"

#include <math.h>

enum { DEPTH = 5, TIMES = 5, FEW_WORDS = 16 };

/* Seconds of both passes. */
static double passes_seconds(struct shape_bench *bench)
{
    shape_bench_fetch(bench);
    device_wait();
    const double began = world_now();
    shape_bench_forward(bench);
    shape_bench_backward(bench);
    device_wait();
    return world_now() - began;
}

static struct shape_bench *open_bench(const struct own_where *where, struct recomputing how)
{
    struct workload few = *where->workload;
    few.of.transformer.num_blocks = DEPTH;
    few.of.transformer.recompute = how;
    return shape_bench_open(&few, where->run, shape_bench_shapes(&few), 1, NULL);
}

/* Return the seconds in which a block is computed again, or its attention alone: of all blocks but the last. A median of differences. */
static double again(const struct own_where *where, int attention_only)
{
    struct shape_bench *kept = open_bench(where, (struct recomputing){ 0 }),
                       *again = open_bench(where, (struct recomputing){ .every = attention_only ? 0 : 1,
                                                                        .attention_only = attention_only });
    double seconds[TIMES];
    const int times = card_times(TIMES);
    for (int i = -1; i < times; i++) { /* the first warms up */
        const double usual = passes_seconds(kept), more = passes_seconds(again) - usual;
        if (i >= 0)
            seconds[i] = more / (DEPTH - 1);
    }
    shape_bench_close(kept);
    shape_bench_close(again);
    return fmax(0, stats_quantile(seconds, times, 0.5));
}

/* Return the seconds of a block's collective right after its data was written, on the rank that comes last. Reduce-scatter follows the
 * block's backward: ranks that came earlier have begun, so it takes less than if all started at once. All-gather follows at once. A
 * mean. 0: one rank alone. */
static double collective(const struct own_where *where, int kind)
{
    struct workload alone = *where->workload; /* a block after an embedding of few words */
    alone.of.transformer.num_blocks = 1;
    alone.of.transformer.vocab_size = FEW_WORDS;
    const size_t ranks = (size_t)world_size(where->together),
                 part = (workload_layer_parameters(&alone, 1) + ranks - 1) / ranks;
    const int times = card_times(TIMES);
    const bool is_sum = kind == REDUCE_SCATTER;
    double seconds[TIMES];
    if (ranks == 1)
        return 0;
    struct shape_bench *bench = shape_bench_open(&alone, where->run, shape_bench_shapes(&alone), 1, NULL);
    float *whole = device_new(MEMORY_MEASURING, ranks * part, sizeof *whole),
          *own = device_new(MEMORY_MEASURING, part, sizeof *own);
    const struct collective_op op =
        is_sum ? reduce_scatter(TYPE_F32, whole, own, part) : all_gather(TYPE_F32, own, whole, part);
    struct collective *c = collective_open(where->together, NULL);
    for (int i = -1; i < times; i++) {
        shape_bench_fetch(bench);
        shape_bench_forward(bench);
        collective_run(c, op); /* ranks go on together after it, as after that of the block before */
        if (is_sum)
            shape_bench_backward(bench);
        device_fill(is_sum ? whole : own, 0, is_sum ? ranks * part : part);
        device_wait();
        const double began = world_now();
        collective_run(c, op);
        device_wait();
        const double took = seconds_of_last(where->together, world_now() - began);
        if (i >= 0)
            seconds[i] = took;
    }
    collective_close(c);
    device_free(whole);
    device_free(own);
    shape_bench_close(bench);
    return stats_mean(seconds, times);
}

/* Return the seconds in which a MB of moments is read from a file and written back: all moments, layer by layer, after passes, which
 * take the caches. A median. The file's pages are in the kernel's memory. */
static double moments_file(const struct own_where *where, int unused)
{
    (void)unused;
    const int times = card_times(TIMES), layers = workload_layers(where->workload);
    size_t most = 0;
    for (int layer = 0; layer < layers; layer++) {
        const size_t count = workload_layer_parameters(where->workload, layer);
        most = count > most ? count : most;
    }
    double seconds[TIMES];
    struct moments_file *file = moments_file_open(where->run->out, most);
    struct shape_bench *passes = open_bench(where, (struct recomputing){ 0 });
    for (int i = -1; i < times; i++) {
        passes_seconds(passes);
        const double began = world_now();
        for (size_t layer = 0, at = 0; layer < (size_t)layers; layer++) {
            const size_t count = workload_layer_parameters(where->workload, (int)layer);
            moments_file_read(file, at, count);
            moments_file_write(file, at, count);
            at += count;
        }
        if (i >= 0)
            seconds[i] = world_now() - began;
    }
    shape_bench_close(passes);
    moments_file_close(file);
    return stats_quantile(seconds, times, 0.5) / (moments_bytes(where->workload) / 1e6);
}

/* Return bytes per second that the optimizer reads and writes. A median. */
static double update(const struct own_where *where, int unused)
{
    (void)unused;
    double seconds[TIMES];
    const int times = card_times(TIMES);
    struct shape_bench *bench = open_bench(where, (struct recomputing){ 0 });
    const double parameters = (double)shape_bench_trainer(bench)->count;
    for (int i = -1; i < times; i++) {
        const double began = world_now();
        shape_bench_update(bench);
        device_wait();
        if (i >= 0)
            seconds[i] = world_now() - began;
    }
    shape_bench_close(bench);
    return UPDATE_BYTES * parameters / stats_quantile(seconds, times, 0.5);
}

/* clang-format off */
const struct own_cost own_costs[] = {
    { "block_again_s",     OWN_SECONDS, "computing a block again takes",     "us", 1e6, MEMORY_OF_COSTS, again, 0 },
    { "attention_again_s", OWN_SECONDS, "… its attention alone",             "us", 1e6, MEMORY_OF_COSTS, again, 1 },
    { "block_sum_s",       OWN_COLLECTIVE, "reduce-scatter of a block, just computed", "us", 1e6, MEMORY_OF_COSTS, collective, REDUCE_SCATTER },
    { "block_gather_s",    OWN_COLLECTIVE, "all-gather of a block, just updated",      "us", 1e6, MEMORY_OF_COSTS, collective, ALL_GATHER },
    { MOMENTS_FILE_COST,   OWN_SECONDS, "a MB of moments from a file and back",     "us", 1e6, MEMORY_OF_COSTS, moments_file, 0 },
    { LARGE_PRODUCT_COST,  OWN_STAYS,   "large products reach",              "GFLOP/s", 1e-9, MEMORY_OF_COSTS, product_measure, 0 },
    { UPDATE_COST,         OWN_STAYS,   "an update reads and writes",        "GB/s", 1e-9, MEMORY_OF_COSTS, update, 0 },
    FRESH_COSTS,
    { 0 },
};
/* clang-format on */
