/* test_probe.c: test probes between blocks of training, under mpirun, on any number of ranks: with more than cores, rank 0 measures
 * alone. */
#include "base/memory.h"
#include "card/calibrate.h"
#include "card/probe.h"
#include "collective/collective.h"
#include "device/device.h"
#include "model/shape_bench.h"
#include "world/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { STEPS = 3, BATCH = 6 };

static struct world *world;
static const struct workload workload = { .type = &mlp_type, .of.mlp = { 64, 48, 5, 3 } };

static struct run run_of_world(void)
{
    struct run run = run_published;
    run.ranks = world_size(world);
    run.batch_size = BATCH;
    return run;
}

static struct card card_of_world(void)
{
    return (struct card){ .ranks = world_size(world), .cores = world_cores(world) };
}

/* Restart, train and return the parameters on the host. */
static float *train(struct trainer *t, const struct run *run)
{
    float *parameters = memory_new(t->count, sizeof *parameters);
    trainer_restart(t, share_even(run, world_rank(world)), 0, 1.0f / BATCH);
    for (int step = 0; step < STEPS; step++) {
        const struct batch *batch = trainer_next(t, NO_STALL);
        trainer_forward(t, batch);
        trainer_backward(t, batch);
        trainer_update(t);
    }
    device_fetch(parameters, t->parameters, t->count * sizeof *parameters);
    return parameters;
}

static void count_call(void *argument, int layer)
{
    (void)layer;
    ++*(int *)argument;
}

static void a_probe_leaves_training_as_it_was(void **state)
{
    (void)state;
    const struct run run = run_of_world();
    const struct card card = card_of_world();
    struct trainer *t = trainer_open(&workload, &run, BATCH);
    struct probe *probe = probe_open(&card, world, &workload, &run, t);
    int calls = 0;
    model_hook(t->model, (struct model_hooks){ &calls, count_call, count_call });
    float *before = train(t, &run);
    const int calls_before = calls;
    for (int i = 0; i < 2; i++)
        probe_measure(probe, PROBE_VISITS);
    assert_int_equal(calls, calls_before); /* a lab's hooks do not run in a probe, */
    float *after = train(t, &run);
    assert_int_equal(calls, 2 * calls_before); /* and do afterwards */
    assert_memory_equal(before, after, t->count * sizeof *before);
    probe_close(probe);
    trainer_close(t);
    free(before);
    free(after);
}

/* The fetch that a block leaves behind may have a stall, and a busy one would share the probe's core. */
static void a_probe_waits_for_a_prefetch(void **state)
{
    (void)state;
    static const struct stall stall = { STALL_SLEEP, 0.5 };
    const struct run run = run_of_world();
    const struct card card = card_of_world();
    struct trainer *t = trainer_open(&workload, &run, BATCH);
    struct probe *probe = probe_open(&card, world, &workload, &run, t);
    trainer_restart(t, share_even(&run, world_rank(world)), 1, 1.0f / BATCH);
    const double began = world_wall();
    trainer_next(t, stall); /* the fetch after this one stalls */
    const double left = world_wall();
    probe_measure(probe, PROBE_VISITS);
    assert_true(world_wall() - began >= stall.seconds);
    assert_true(left - began < stall.seconds); /* the wait was the probe's */
    probe_close(probe);
    trainer_close(t);
}

static void every_rank_gets_the_means(void **state)
{
    (void)state;
    const struct run run = run_of_world();
    const struct card card = card_of_world();
    struct probe *probe = probe_open(&card, world, &workload, &run, NULL);
    struct card_probe mine = probe_measure(probe, PROBE_VISITS), first = mine;
    assert_true(mine.alone <= 0);
    probe_rank_alone(probe);
    const struct card_probe also = probe_measure(probe, PROBE_VISITS);
    const bool is_another =
        world_size(world) > 1 && world_size(world) <= world_cores(world); /* than the usual measurement */
    assert_true(is_another ? also.alone > 0 : also.alone <= 0);
    probe_close(probe);
    world_broadcast(world, &first, sizeof first);
    assert_memory_equal(&mine, &first, sizeof mine);
    assert_true(mine.fetch > 0 && mine.passes > 0 && mine.update > 0);
    assert_true(world_size(world) > 1 ? mine.transfer > 0 : mine.transfer >= 0 && mine.transfer <= 0);
}

static void a_card_of_another_machine_is_found_out(void **state)
{
    (void)state;
    const struct run run = run_of_world();
    struct card card = card_of_world();
    card.reference.alone = card.reference.together = (struct local_times){ 1, 1, 1 };
    card.reference.transfer = 1;
    char why[CARD_NAME] = "";
    assert_int_equal(calibrate_again(&card, world, &workload, &run, why), CARD_OUTDATED);
    assert_non_null(strstr(why, "100 % less"));
}

/* The card keeps what a probe repeats, and what the fit says of it. */
static void a_card_has_its_reference(void **state)
{
    (void)state;
    const struct run run = run_of_world();
    struct card_uses uses = { 0 };
    card_use(&uses, ALL_REDUCE, first_ranks(world_size(world)), 0);
    struct card card;
    const struct check_failures wrong = calibrate(&card, world, &workload, &run, &uses);
    assert_int_equal(wrong.count, 0);
    const struct card_probe usual = card_usual(&card);
    assert_true(card_is_measured(&card) && card_covers(&card, &uses));
    assert_true(usual.fetch > 0 && usual.passes > 0 && usual.update > 0 && card.jitter >= 0);
    assert_true((usual.transfer > 0) == (world_size(world) > 1));
    const double step = local_step(&card.alone, workload_usual(&workload, &run)),
                 measured = card.reference.alone.fetch + card.reference.alone.passes + card.reference.alone.update,
                 off = card.reference.alone_error.usual - (step / measured - 1);
    assert_true(off > -1e-9 && off < 1e-9);
}

int main(void)
{
    world = world_open(60);
    world_set_timeout(world, 60);
    device_open(world_rank(world), PRECISION_FP32);
    collective_begin(world, false, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_probe_leaves_training_as_it_was), cmocka_unit_test(a_probe_waits_for_a_prefetch),
        cmocka_unit_test(every_rank_gets_the_means),         cmocka_unit_test(a_card_of_another_machine_is_found_out),
        cmocka_unit_test(a_card_has_its_reference),
    };
    int failed = cmocka_run_group_tests_name("probe", tests, NULL, NULL);
    device_close();
    world_close(world);
    return failed;
}
