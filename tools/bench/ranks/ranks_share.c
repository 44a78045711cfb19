/* Harness time in a step, made after a step, against the time of the step: the calls of a step of lab 01; and what the ledger notes when a
 * transformer block takes its activations from a pool and gives them back. */
#include "ranks.h"

#include "base/memory.h"
#include "bench/step_work.h"
#include "collective/collective.h"
#include "collective/spans.h"
#include "device/device.h"
#include "device/pool.h"
#include "options/run.h"
#include "world/world.h"
#include "world/world_mpi.h"

#include <stdlib.h>

enum { STEPS = 4, BLOCKS_MLP = 5, BLOCKS_TEXT = 25 }; /* steps per block; blocks */
static const double GOAL = 0.001;

struct rig {
    struct collective *collective;
    struct spans spans;
    struct trainee trainee;
    MPI_Comm comm;
    float *terms; /* (count), the size of the gradients */
    size_t count;
    struct pool *pool;
};

/* Calls of a step, and the part of them that is not the harness's; NULL: all is. */
struct harness_calls {
    double (*calls)(struct rig *rig, int step);
    double (*raw)(struct rig *rig);
};

/* Time the harness calls of lab_phase() and lab_next_step(), except their two comparisons for the step number. The last step of
 * a block keeps the terms for the check that follows. */
static double time_calls(struct rig *rig, int step)
{
    double began = world_now();
    rig->spans.step = step;
    collective_check(rig->collective, step == STEPS - 1 ? CHECK_KEPT : CHECK_NOTHING);
    device_wait();
    spans_phase(&rig->spans, SPAN_DATA, device_record_event());
    spans_phase(&rig->spans, SPAN_FORWARD, device_record_event());
    spans_phase(&rig->spans, SPAN_BACKWARD, device_record_event());
    collective_run(rig->collective, all_reduce(TYPE_F32, rig->terms, rig->terms, rig->count));
    spans_phase(&rig->spans, SPAN_UPDATE, device_record_event());
    return world_now() - began;
}

/* Time the part of these calls that is MPI's: an all-reduce of one rank. */
static double time_raw(struct rig *rig)
{
    double began = world_now();
    MPI_Allreduce(MPI_IN_PLACE, rig->terms, (int)rig->count, MPI_FLOAT, MPI_SUM, rig->comm);
    return world_now() - began;
}

/* Time the ledger, and the pool that calls it: two pieces of memory of a block, in forward and in backward. */
static double time_ledger(struct rig *rig, int step)
{
    enum { PIECE = 4096 };
    (void)step;
    double began = world_now();
    ledger_layer(1);
    void *attention = pool_take(rig->pool, PIECE, MEMORY_ACTIVATIONS),
         *block = pool_take(rig->pool, 2 * (size_t)PIECE, MEMORY_ACTIVATIONS);
    ledger_layer(1);
    pool_give(rig->pool, PIECE, attention);
    pool_give(rig->pool, 2 * (size_t)PIECE, block);
    ledger_layer(-1);
    return world_now() - began;
}

static double time_step(struct trainee *trainee)
{
    trainee_restart(trainee); /* a model that fits its batch perfectly multiplies zeros */
    double began = world_now();
    trainee_once(trainee);
    return world_now() - began;
}

/* Time a block: seconds per step of the harness calls, each with caches just filled by a step, and of the steps. */
static void time_block(struct rig *rig, struct harness_calls of, double *harness, double *whole)
{
    spans_restart(&rig->spans, 0, 0);
    *harness = *whole = 0;
    for (int step = 0; step < STEPS; step++) {
        *whole += time_step(&rig->trainee) / STEPS;
        *harness += of.calls(rig, step) / STEPS;
        time_step(&rig->trainee);
        *harness -= of.raw ? of.raw(rig) / STEPS : 0;
    }
}

static void take_turns(struct ranks *ranks, struct rig *rig, struct harness_calls of, const char *what,
                       const struct step *step, int usual)
{
    int rounds = ranks_rounds(ranks, usual);
    double *harness = memory_new((size_t)rounds, sizeof *harness), *whole = memory_new((size_t)rounds, sizeof *whole);
    const struct step_sizes *sizes = &ranks->sizes;
    trainee_open(&rig->trainee, sizes, step);
    rig->count = (size_t)step_count(sizes, step).parameters;
    rig->terms = device_new(MEMORY_COMMUNICATION, rig->count, sizeof *rig->terms);
    time_block(rig, of, harness, whole); /* warm-up: page faults, connections */
    for (int i = 0; i < rounds; i++)
        time_block(rig, of, &harness[i], &whole[i]);
    ranks_found_difference(ranks, what, 1e6, GOAL, harness, whole, rounds);
    trainee_close(&rig->trainee);
    device_free(rig->terms);
    free(harness);
    free(whole);
}

void ranks_share(struct ranks *ranks)
{
    enum { CALLS_OF_A_STEP = 5 };
    const struct step texts = { .model = WORK_TRANSFORMER, .batch = run_published_texts.batch_size, .tokens = 128 };
    const struct harness_calls lab = { time_calls, time_raw }, ledger = { time_ledger, NULL };
    struct rig rig = { .comm = ranks->world->comm, .pool = pool_open() };
    spans_open(&rig.spans, STEPS * CALLS_OF_A_STEP);
    rig.collective = collective_open(ranks->world, &rig.spans);
    take_turns(ranks, &rig, lab, "the harness in a step, of the MLP's at batch 128, us",
               &(struct step){ .model = WORK_MLP, .batch = run_published.batch_size }, BLOCKS_MLP);
    take_turns(ranks, &rig, lab, "the harness in a step, of the transformer's at 8 x 128, us", &texts, BLOCKS_TEXT);
    take_turns(ranks, &rig, ledger, "the ledger in a step, of the transformer's at 8 x 128, us", &texts, BLOCKS_TEXT);
    pool_close(rig.pool);
    collective_close(rig.collective);
    spans_close(&rig.spans);
}
