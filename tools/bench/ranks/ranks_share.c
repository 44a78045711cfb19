/* What the harness has of a step: the calls that a step of lab 01 makes of it, alone, against whole steps. */
#include "ranks.h"

#include "collective.h"
#include "device.h"
#include "memory.h"
#include "run.h"
#include "spans.h"
#include "step_work.h"
#include "world.h"

#include <math.h>
#include <stdlib.h>

enum { ROUNDS = 30, CALLS = 1000, PHASES = 4 };
static const double GOAL = 0.001;

struct rig {
    struct collective *collective;
    struct spans spans;
    float *mine, *sum;
};

/* As lab_phase() and lab_next_step() do it, less the two comparisons that it takes to know which step it is; and with what MPI
 * needs for a sum of one rank, which is not the harness's. */
static double time_harness(struct rig *rig)
{
    spans_restart(&rig->spans, 0, 0);
    double began = world_now();
    for (int i = 0; i < CALLS; i++) {
        rig->spans.step = i;
        collective_check(rig->collective, CHECK_NOTHING);
        device_wait();
        spans_phase(&rig->spans, SPAN_DATA, device_moment());
        spans_phase(&rig->spans, SPAN_FORWARD, device_moment());
        spans_phase(&rig->spans, SPAN_BACKWARD, device_moment());
        collective_sum(rig->collective, WIRE_F32, rig->mine, rig->sum, 1);
        spans_phase(&rig->spans, SPAN_UPDATE, device_moment());
    }
    return (world_now() - began) / CALLS;
}

static double time_step(struct trainee *trainee)
{
    trainee_restart(trainee); /* or gradients come to be so small that they are slow to compute with */
    double began = world_now();
    trainee_once(trainee);
    return world_now() - began;
}

static void take_turns(struct ranks *ranks, struct rig *rig, const char *what, const struct step *step)
{
    int rounds = ranks_rounds(ranks, ROUNDS);
    double *harness = memory_new((size_t)rounds, sizeof *harness), *whole = memory_new((size_t)rounds, sizeof *whole);
    const struct step_sizes sizes = step_sizes_published();
    struct trainee trainee;
    trainee_open(&trainee, &sizes, step);
    time_step(&trainee);
    for (int i = 0; i < rounds; i++) {
        harness[i] = time_harness(rig);
        whole[i] = time_step(&trainee);
    }
    trainee_close(&trainee);
    ranks_found(ranks, what, 1e6, GOAL, harness, whole, rounds);
    free(harness);
    free(whole);
}

void ranks_share(struct ranks *ranks)
{
    struct rig rig = { .mine = device_new(1, 4), .sum = device_new(1, 4) };
    spans_open(&rig.spans, CALLS * (PHASES + 1));
    rig.collective = collective_open(ranks->world, &rig.spans);
    take_turns(ranks, &rig, "the harness in a step, of the MLP's at batch 128, us",
               &(struct step){ .model = WORK_MLP, .batch = run_published.batch_size });
    take_turns(ranks, &rig, "the harness in a step, of the transformer's at 8 x 128, us",
               &(struct step){ .model = WORK_TRANSFORMER, .batch = run_published_texts.batch_size, .tokens = 128 });
    collective_close(rig.collective);
    spans_close(&rig.spans);
    device_free(rig.mine);
    device_free(rig.sum);
}
