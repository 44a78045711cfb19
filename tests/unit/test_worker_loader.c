/* test_worker_loader.c: test that workers make the batches that the loader makes, whatever their number, and in order. On the virtual
 * clock tests/sim/test_worker_steps.c tests when. */
#include "base/memory.h"
#include "device/device.h"
#include "model/worker_loader.h"
#include "support/on_device.h"
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FEATURES = 7, BATCH = 5, STEPS = 40, MOST = 8 };

static const struct workload workload = { .type = &mlp_type, .of.mlp = { FEATURES, 4, 3, 2 } };

static struct run run_here(void)
{
    struct run run = run_published;
    run.ranks = 2;
    run.batch_size = BATCH;
    return run;
}

struct record {
    float features[STEPS][BATCH * FEATURES];
    int32_t labels[STEPS][BATCH];
};

static void note(struct record *record, int step, const struct batch *batch)
{
    assert_int_equal(batch->samples, BATCH);
    memcpy(record->features[step], batch->features, sizeof record->features[step]);
    memcpy(record->labels[step], batch->labels, sizeof record->labels[step]);
}

/* The samples of loader.h, each transformed here. */
static struct record *expected(int rank, int rounds)
{
    const struct run run = run_here();
    struct record *record = memory_new(1, sizeof *record);
    struct loader *loader = loader_open(&workload, &run, BATCH);
    loader_restart(loader, share_even(&run, rank), 0, 1);
    for (int step = 0; step < STEPS; step++) {
        note(record, step, loader_next(loader, NO_STALL));
        for (int i = 0; i < BATCH; i++)
            worker_loader_transform(record->features[step] + i * FEATURES, FEATURES, rounds);
    }
    loader_close(loader);
    return record;
}

/* Compare the batches of a plan bit by bit. */
static void assert_same_batches(struct worker_loader *loader, int rank, struct worker_loader_plan plan)
{
    const struct run run = run_here();
    struct record *right = expected(rank, plan.rounds), *made = memory_new(1, sizeof *made);
    worker_loader_restart(loader, share_even(&run, rank), 1, plan);
    for (int step = 0; step < STEPS; step++)
        note(made, step, worker_loader_next(loader));
    assert_memory_equal(made, right, sizeof *right);
    const struct worker_loader_waits waits = worker_loader_waits(loader);
    assert_int_equal(waits.taken, STEPS);
    assert_true(waits.seconds > 0 && waits.empty <= STEPS && (plan.workers > 0 || waits.empty == STEPS));
    free(right);
    free(made);
}

static struct worker_loader *open_loader(void)
{
    const struct run run = run_here();
    return worker_loader_open(&workload, &run, BATCH, MOST, 0);
}

TEST(batches_do_not_depend_on_the_workers)
{
    struct worker_loader *loader = open_loader();
    const struct stall stalls[] = { NO_STALL, { STALL_SLEEP, 20e-6 }, { STALL_BUSY, 20e-6 } };
    for (int workers = 0; workers <= MOST; workers++)
        for (int i = 0; i < 3; i++)
            assert_same_batches(
                loader, workers % 2,
                (struct worker_loader_plan){ .workers = workers, .per_sample = stalls[i], .rounds = i });
    worker_loader_close(loader);
}

TEST(batches_from_memory_are_the_same)
{
    struct worker_loader *loader = open_loader();
    const struct stall stall = { STALL_SLEEP, 1 }; /* would take 200 s */
    for (int workers = 0; workers < 3; workers++)
        assert_same_batches(loader, 1,
                            (struct worker_loader_plan){
                                .workers = workers, .per_sample = stall, .rounds = 1 + workers, .from_memory = true });
    worker_loader_close(loader);
}

/* The batch in use stays as it is while its worker fills all its other slots. */
TEST(a_batch_stays_until_the_next)
{
    const struct run run = run_here();
    struct worker_loader *loader = open_loader();
    worker_loader_restart(loader, share_even(&run, 0), 1, (struct worker_loader_plan){ .workers = 1, .rounds = 1 });
    for (int step = 0; step < STEPS; step++) {
        float copy[BATCH * FEATURES];
        const struct batch *batch = worker_loader_next(loader);
        memcpy(copy, batch->features, sizeof copy);
        nanosleep(&(struct timespec){ .tv_nsec = 300000 }, NULL);
        assert_memory_equal(copy, batch->features, sizeof copy);
    }
    worker_loader_close(loader);
}

/* Workers that sleep for minutes drop their batches at once. */
TEST(workers_stop_within_a_sample)
{
    const struct run run = run_here();
    struct worker_loader *loader = open_loader();
    const struct worker_loader_plan slow = { .workers = MOST, .per_sample = { STALL_SLEEP, 0.2 } };
    const time_t began = time(NULL);
    for (int i = 0; i < 10; i++) { /* two batches of 1 s for each worker: 20 s if they were made */
        worker_loader_restart(loader, share_even(&run, 0), 1, slow);
        worker_loader_settle(loader);
    }
    assert_true(difftime(time(NULL), began) < 12);
    assert_same_batches(loader, 0, (struct worker_loader_plan){ .workers = 2, .rounds = 1 });
    worker_loader_close(loader);
}

TEST(the_transform_bends_and_moves)
{
    float x[3] = { 0.5f, -1, 2 };
    worker_loader_transform(x, 3, 1);
    const double right[3] = { tanh(2.03), tanh(0.515), tanh(-1.0) };
    for (int i = 0; i < 3; i++)
        assert_true(fabs((double)x[i] - right[i]) < 1e-6);
    worker_loader_transform(x, 3, 0);
    assert_true(fabs((double)x[0] - right[0]) < 1e-6);
    worker_loader_transform(x, 3, 2); /* twice: element 0 comes from element 1 */
    assert_true(fabs((double)x[0] - tanh(1.01 * tanh(1.01 * right[1] + 0.01) + 0.01)) < 1e-6);
}

AROUND_TESTS(open_device, device_close)
