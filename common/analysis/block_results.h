/* gather: after a block, what every rank recorded and concluded comes together on rank 0. */
#ifndef LOCKSTEP_GATHER_H
#define LOCKSTEP_GATHER_H

#include "analysis/timeline.h"
#include "base/check_failures.h"
#include "options/run.h"
#include "world/clocks.h"

#include <stddef.h>
#include <stdint.h>

struct world;

/* What a rank says of its own block. */
struct rank_result {
    double loss;        /* mean over the rank's samples of the last step; NaN when that of any step was */
    uint64_t hash;      /* of its parameters: replicas are bit-equal where their hashes are */
    int samples;        /* per step */
    double clock_error; /* of its device, in seconds */
    double queued;      /* seconds of the measured steps in which it was ready and had no core; NaN: not known */
    struct check_failures wrong;
};

struct block {
    struct timeline timeline;     /* its spans are owned by whoever takes them */
    struct rank_result *verdicts; /* (ranks) */
};

/* all: true on rank 0, which receives the block, in its own time. Ranks may have recorded different numbers of phases. */
bool block_results_block(struct block *block, struct world *world, struct spans *spans, const struct clocks *clocks,
                         const struct rank_result *mine, struct window window);

/* Failed checks: what the ranks report, losses that are no numbers, replicas that differ; and samples that all ranks
 * together trained on twice or not at all, where it is known how many a step has (0: it is not). */
struct check_failures block_results_wrong(const struct block *block, int samples);

/* FNV-1a over the values' 32-bit words (device memory), in eight lanes that are hashed at the end. */
uint64_t block_results_hash(const float *values, size_t count);

#endif
