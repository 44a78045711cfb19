/* test_worker_steps.c: compare each step of a loader with workers, on the virtual clock of the machine of round numbers, with what
 * common/card/worker_queue.h computes. The loader's workers are simulated processes that sleep and compute; the queue is a recurrence
 * that knows nothing of processes. The host has one core.
 *
 * usage: test_worker_steps PLATFORM right|wrong; starts its own rank. With `wrong` the queue has a worker too many. */
#include "base/die.h"
#include "base/memory.h"
#include "card/worker_queue.h"
#include "device/device.h"
#include "launch/flight_recorder.h"
#include "launch/job.h"
#include "model/worker_loader.h"
#include "support/simulated.h"
#include "world/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 4, STEPS = 40, MOST = 8 };
static const double FETCH = 0.2e-3, TAKE = 0.02e-3, TOLERANCE = 0.02e-3; /* on round_numbers.xml */
static const struct workload workload = { .type = &mlp_type, .of.mlp = { 8, 4, 3, 2 } };

/* Compare the steps of some workers whose samples stall, beside steps that compute for `step` seconds. */
static void compare(struct worker_loader *loader, const struct run *run, struct worker_loader_plan plan, double step,
                    bool is_wrong)
{
    const double stalled = BATCH * plan.per_sample.seconds, batch = stalled + FETCH;
    const struct worker_queue queue = { .workers = plan.workers + is_wrong,
                                        .ahead = WORKER_QUEUE_AHEAD,
                                        .batch = batch,
                                        .busy = plan.per_sample.kind == STALL_BUSY ? 1 : FETCH / batch,
                                        .cores = plan.per_sample.kind == STALL_BUSY ? 1 : INFINITY,
                                        .step = step,
                                        .take = plan.workers > 0 ? TAKE : 0,
                                        .is_step_on_core = true };
    struct queue_step expected[STEPS];
    worker_queue_steps(&queue, expected, STEPS);
    worker_loader_restart(loader, share_even(run, 0), 1, plan);
    double began = world_now(), off = 0, elapsed = 0;
    for (int i = 0; i < STEPS; i++) {
        worker_loader_next(loader);
        world_burn_cpu(step);
        const double now = world_now();
        /* A worker that sleeps also needs the core for FETCH in each batch, which the queue leaves out; several begin together. */
        elapsed += now - began;
        off += now - began - expected[i].data - expected[i].rest;
        const double allowed =
            plan.per_sample.kind == STALL_BUSY ? TOLERANCE : 0.012 * elapsed + (plan.workers + 1) * FETCH;
        if (!(fabs(off) < allowed))
            die(STATUS_WRONG, "%d workers, step %d: %.3f ms, not %.3f", plan.workers, i, 1e3 * (now - began),
                1e3 * (expected[i].data + expected[i].rest));
        began = now;
    }
    worker_loader_settle(loader);
}

static int start(char *const *argv)
{
    return simulated_start("test_worker_steps", argv[1],
                           (struct launch){ .ranks = 1,
                                            .cores = 1,
                                            .timeout = 60,
                                            .helpers = MOST,
                                            .arguments = (const char *const[]){ argv[2], NULL } });
}

int main(int argc, char **argv)
{
    if (!job_is_rank())
        return argc == 3 ? start(argv) : STATUS_USAGE;
    job_arguments(&argc, &argv);
    struct world *world = world_open(60);
    world_set_timeout(world, 60);
    device_open(0, PRECISION_FP32);
    struct run run = run_published;
    run.ranks = 1;
    run.batch_size = BATCH;
    struct worker_loader *loader = worker_loader_open(&workload, &run, BATCH, MOST, 0);
    static const double steps[] = { 10e-3, 70e-3, 300e-3 };
    for (enum stall_kind kind = STALL_SLEEP; kind <= STALL_BUSY; kind++)
        for (int workers = 0; workers <= MOST; workers = workers ? 2 * workers : 1)
            for (int i = 0; i < 3; i++)
                compare(loader, &run, (struct worker_loader_plan){ .workers = workers, .per_sample = { kind, 50e-3 } },
                        steps[i], strcmp(argv[1], "wrong") == 0 && workers > 0);
    worker_loader_close(loader);
    flight_recorder_end(world_recorder(world));
    world_close(world);
    return STATUS_RIGHT;
}
