/* block_results: collects the spans and results of all ranks on rank 0 after a block. */
#ifndef LOCKSTEP_BLOCK_RESULTS_H
#define LOCKSTEP_BLOCK_RESULTS_H

#include "analysis/memory_count.h"
#include "analysis/timeline.h"
#include "base/check_failures.h"
#include "collective/spans.h"
#include "options/run.h"
#include "world/clocks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct world;

/* Results of one rank in a block. */
struct rank_result {
    double loss;   /* mean over the rank's samples of the step before `trained`; NaN if any step's was not finite */
    uint64_t hash; /* of its parameters: equal hashes mean bit-equal replicas */
    int samples;   /* per step */
    int trained;   /* steps after which the loss was taken, warm-up included */
    double clock_error; /* of its device's clock, in seconds */
    double queued;      /* run-queue delay in the measured steps, in seconds; NaN: not known */
    double taken;       /* seconds of the measured steps in which other programs had the rank's core; NaN: not known */
    double lasted;      /* seconds of the measured steps, in real time */
    struct check_failures wrong;
    struct memory_count memory;
};

struct block {
    struct timeline timeline;    /* the caller frees its spans */
    struct rank_result *results; /* (ranks) */
};

/* all: gather the block on rank 0, in rank 0's time; true there. Ranks may have recorded different numbers of phases. */
bool block_results_block(struct block *block, struct world *world, struct spans *spans, const struct clocks *clocks,
                         const struct rank_result *mine, struct window window);

/* Return the failed checks: those of the ranks, losses that are not finite, and replicas that differ, unless the ranks were
 * `apart`. If `samples` of a step is known (not 0), it must also be the number of samples that all ranks together trained on. */
struct check_failures block_results_wrong(const struct block *block, int samples, bool apart);

/* Return the FNV-1a hash of the values' 32-bit words (device memory): eight interleaved hashes, which are hashed at the end. */
uint64_t block_results_hash(const float *values, size_t count);

#endif
