#include "analysis/block_results.h"

#include "base/hash.h"
#include "base/memory.h"
#include "collective/collective.h"
#include "device/device.h"
#include "world/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool block_results_block(struct block *block, struct world *world, struct spans *spans, const struct clocks *clocks,
                         const struct rank_result *mine, struct window window)
{
    int ranks = world_size(world), most = 0;
    bool is_first = world_rank(world) == 0;
    int *counts = memory_new((size_t)ranks, sizeof *counts);
    world_gather(world, &spans->count, sizeof spans->count, counts);
    for (int rank = 0; rank < ranks; rank++)
        most = counts[rank] > most ? counts[rank] : most;
    free(counts);
    world_broadcast(world, &most, sizeof most);
    spans_translate(spans, clocks);
    for (int i = spans->count; i < most; i++)
        spans->at[i] = (struct span){ .step = -1 };

    struct rank_result *results = is_first ? memory_new((size_t)ranks, sizeof *results) : NULL;
    struct span *all = is_first ? memory_new((size_t)most * (size_t)ranks, sizeof *all) : NULL;
    world_gather(world, mine, sizeof *mine, results);
    world_gather(world, spans->at, (size_t)most * sizeof *all, all);
    double device_error = 0;
    for (int rank = 0; is_first && rank < ranks; rank++)
        device_error = fmax(device_error, 2 * results[rank].clock_error); /* both of two compared ranks may be off */
    *block = (struct block){ .timeline = { .ranks = ranks,
                                           .clock_error = clocks->disagree + device_error,
                                           .hides_arrivals = ranks > 1 && collective_hides_arrivals(),
                                           .first_step = window.warmup,
                                           .steps = window.measured,
                                           .count = most,
                                           .spans = all },
                             .results = results };
    return is_first;
}

struct check_failures block_results_wrong(const struct block *block, int samples, bool apart)
{
    struct check_failures wrong = { 0 };
    int trained = 0;
    for (int rank = 0; rank < block->timeline.ranks; rank++) {
        const struct rank_result *v = &block->results[rank];
        check_failures_join(&wrong, &v->wrong, "rank %d, ", rank);
        if (!isfinite(v->loss))
            check_failures_add(&wrong, "rank %d: the loss of a step is not a number", rank);
        if (!apart && v->hash != block->results[0].hash)
            check_failures_add(&wrong, "rank %d: its parameters differ from rank 0's at the end", rank);
        trained += v->samples;
    }
    if (samples && trained != samples)
        check_failures_add(&wrong, "the ranks train on %d samples a step, but the global batch has %d", trained,
                           samples);
    return wrong;
}

uint64_t block_results_hash(const float *values, size_t count)
{
    enum { HASHES = 8, PIECE = 16384 }; /* each multiplication of a hash needs the one before: eight hashes overlap */
    uint32_t bits[PIECE];
    uint64_t part[HASHES], hash = HASH_BEGIN;
    for (int i = 0; i < HASHES; i++)
        part[i] = hash;
    for (size_t begin = 0; begin < count; begin += PIECE) {
        size_t left = count - begin, size = left < PIECE ? left : PIECE;
        device_fetch(bits, values + begin, size * sizeof *bits);
        for (size_t i = 0; i < size; i += HASHES)
            for (size_t l = 0; l < HASHES && i + l < size; l++)
                part[l] = hash_add(part[l], bits[i + l]);
    }
    for (int i = 0; i < HASHES; i++)
        hash = hash_add(hash, part[i]);
    return hash;
}
