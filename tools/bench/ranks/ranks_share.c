/* Harness time in a step: the harness calls of a step of lab 01, made after a step, against the time of the step. */
#include "ranks.h"

#include "base/memory.h"
#include "bench/step_work.h"
#include "collective/collective.h"
#include "collective/spans.h"
#include "device/device.h"
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

static double time_step(struct trainee *trainee)
{
    trainee_restart(trainee); /* a model that fits its batch perfectly multiplies zeros */
    double began = world_now();
    trainee_once(trainee);
    return world_now() - began;
}

/* Time a block: seconds per step of the harness calls, each with caches just filled by a step, and of the steps. */
static void time_block(struct rig *rig, double *harness, double *whole)
{
    spans_restart(&rig->spans, 0, 0);
    *harness = *whole = 0;
    for (int step = 0; step < STEPS; step++) {
        *whole += time_step(&rig->trainee) / STEPS;
        *harness += time_calls(rig, step) / STEPS;
        time_step(&rig->trainee);
        *harness -= time_raw(rig) / STEPS;
    }
}

static void take_turns(struct ranks *ranks, struct rig *rig, const char *what, const struct step *step, int usual)
{
    int rounds = ranks_rounds(ranks, usual);
    double *harness = memory_new((size_t)rounds, sizeof *harness), *whole = memory_new((size_t)rounds, sizeof *whole);
    const struct step_sizes *sizes = &ranks->sizes;
    trainee_open(&rig->trainee, sizes, step);
    rig->count = (size_t)step_count(sizes, step).parameters;
    rig->terms = device_new(MEMORY_COMMUNICATION, rig->count, sizeof *rig->terms);
    time_block(rig, harness, whole); /* warm-up: page faults, connections */
    for (int i = 0; i < rounds; i++)
        time_block(rig, &harness[i], &whole[i]);
    ranks_found_difference(ranks, what, 1e6, GOAL, harness, whole, rounds);
    trainee_close(&rig->trainee);
    device_free(rig->terms);
    free(harness);
    free(whole);
}

void ranks_share(struct ranks *ranks)
{
    enum { CALLS_OF_A_STEP = 5 };
    struct rig rig = { .comm = ranks->world->comm };
    spans_open(&rig.spans, STEPS * CALLS_OF_A_STEP);
    rig.collective = collective_open(ranks->world, &rig.spans);
    take_turns(ranks, &rig, "the harness in a step, of the MLP's at batch 128, us",
               &(struct step){ .model = WORK_MLP, .batch = run_published.batch_size }, BLOCKS_MLP);
    take_turns(ranks, &rig, "the harness in a step, of the transformer's at 8 x 128, us",
               &(struct step){ .model = WORK_TRANSFORMER, .batch = run_published_texts.batch_size, .tokens = 128 },
               BLOCKS_TEXT);
    collective_close(rig.collective);
    spans_close(&rig.spans);
}
