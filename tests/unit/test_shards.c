/* test_shards.c: train a model in shards beside the same model held whole on every rank, under mpirun, on any number of ranks. With
 * two ranks all parameters are equal to the bit, since a + b is b + a; with more, up to the order of the sums. */
#include "base/memory.h"
#include "collective/collective.h"
#include "collective/shards.h"
#include "collective/spans.h"
#include "device/device.h"
#include "model/trainer.h"
#include "support/on_ranks.h"
#include "support/tiny_models.h"
#include "support/unit.h"
#include "world/world.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 3, BATCH = 6 };

static void fetch(float *host, const float *memory, size_t count)
{
    device_fetch(host, memory, count * sizeof *host);
}

/* Train both for a few steps on the same batches, and compare losses and parameters after each. */
static void compare(const struct workload *workload)
{
    const struct run run = tiny_run(world_size(world), BATCH);
    struct spans spans;
    spans_open(&spans, 4096);
    struct collective *c = collective_open(world, &spans);
    const struct group *all = collective_split(c, 0, 0);
    struct trainer *whole = trainer_open(workload, &run, BATCH);
    struct shards *shards = shards_open(workload, run.seed, loader_most(workload, BATCH), c, all);
    float *gathered = device_new(MEMORY_DATA, whole->count, sizeof *gathered);
    float *mine = memory_new(whole->count, sizeof *mine), *theirs = memory_new(whole->count, sizeof *theirs);
    trainer_restart(whole, share_even(&run, world_rank(world)), 0, 1.0f / (float)run_global_batch(&run));
    collective_check(c, CHECK_EACH);
    for (int step = 0; step < STEPS; step++) {
        const struct batch *batch = trainer_next(whole, NO_STALL);
        trainer_forward(whole, batch);
        trainer_backward(whole, batch);
        collective_run(c, all_reduce(TYPE_F32, whole->gradients, whole->gradients, whole->count));
        trainer_update(whole);
        shards_forward(shards, batch);
        shards_backward(shards, batch);
        shards_update(shards);
        shards_gather(shards, gathered);
        fetch(mine, whole->parameters, whole->count);
        fetch(theirs, gathered, whole->count);
        if (world_size(world) <= 2)
            assert_memory_equal(mine, theirs, whole->count * sizeof *mine);
        double apart = 0;
        for (size_t i = 0; i < whole->count; i++)
            apart += (double)fabsf(mine[i] - theirs[i]) / (double)whole->count;
        assert_true(apart <= 1e-3 * workload_learning_rate(
                                        workload)); /* a wrong gradient moves a parameter by up to twice the rate */
        assert_true(fabs(trainer_loss(whole, 1) - shards_loss(shards, 1)) <= 1e-5);
    }
    assert_int_equal(collective_wrong(c).count, 0);
    free(mine);
    free(theirs);
    device_free(gathered);
    shards_close(shards);
    trainer_close(whole);
    collective_close(c);
    spans_close(&spans);
}

TEST(shards_train_as_the_whole_model_does)
{
    for (int layers = 1; layers <= 4; layers++) {
        struct workload workload = mlp_of(layers);
        compare(&workload);
    }
    struct workload texts = tiny_transformer();
    compare(&texts);
}

/* Return how many floats a rank received by collectives of a kind in one step of forward, backward and update. */
static double received(enum span_kind kind, const struct workload *workload)
{
    const struct run run = tiny_run(world_size(world), BATCH);
    struct spans spans;
    spans_open(&spans, 256);
    struct collective *c = collective_open(world, &spans);
    struct trainer *data = trainer_open(workload, &run, BATCH);
    trainer_restart(data, share_even(&run, world_rank(world)), 0, 1);
    struct shards *shards = shards_open(workload, run.seed, loader_most(workload, BATCH), c, collective_split(c, 0, 0));
    const struct batch *batch = trainer_next(data, NO_STALL);
    spans_restart(&spans, 0, 0);
    shards_forward(shards, batch);
    shards_backward(shards, batch);
    shards_update(shards);
    double floats = 0;
    for (int i = 0; i < spans.count; i++) {
        const struct span *s = &spans.at[i];
        if (s->kind == kind)
            floats += collective_traffic(kind, world_size(world), s->bytes, s->to, s->from).received / sizeof(float);
    }
    shards_close(shards);
    trainer_close(data);
    collective_close(c);
    spans_close(&spans);
    return floats;
}

/* The parameters come twice, but for the last layer's, which backward uses first; the gradients once. */
TEST(messages_are_those_of_the_formula)
{
    struct workload workload = mlp_of(3);
    const double ranks = world_size(world);
    double all = 0, last = 0;
    for (int layer = 0; layer < 3; layer++) {
        last = ceil((double)workload_layer_parameters(&workload, layer) / ranks);
        all += last;
    }
    assert_true(fabs(received(SPAN_ALL_GATHER, &workload) - (ranks - 1) * (2 * all - last)) < 0.5);
    assert_true(fabs(received(SPAN_REDUCE_SCATTER, &workload) - (ranks - 1) * all) < 0.5);
}

TEST(a_rank_holds_its_part)
{
    const struct batch_most none = { 0 };
    const struct memory_estimate one = shards_memory(&published_mlp, none, 1),
                                 eight = shards_memory(&published_mlp, none, 8);
    const double layer = 1025 * 1024 * sizeof(float); /* the largest */
    assert_true(fabs(memory_estimate_model(&one) - 4 * workload_gradient_bytes(&published_mlp)) < 1);
    assert_true(fabs(memory_estimate_model(&eight) - 4 * workload_gradient_bytes(&published_mlp) / 8) < 256);
    assert_true(fabs(one.of[MEMORY_COMMUNICATION] - 2 * layer) < 1);
    assert_true(fabs(eight.of[MEMORY_COMMUNICATION] - 2 * layer) < 64);
}

AROUND_TESTS(open_ranks, close_ranks)
