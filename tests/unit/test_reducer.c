/* test_reducer.c: train a model with the reducer, in many ways of buckets, beside the same model whose gradients are summed after
 * backward, under mpirun, on any number of ranks. With two ranks all gradients are equal to the bit, since a + b is b + a. With more,
 * the place of a float within its message decides in which order the library adds the ranks' terms: equal up to that order. */
#include "base/memory.h"
#include "collective/collective.h"
#include "collective/join.h"
#include "collective/low_rank.h"
#include "collective/reducer.h"
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

enum { STEPS = 3, BATCH = 6, ALL = 1 << 20 };

/* Two trainers with equal data: one sums after backward, one by the reducer. */
struct pair {
    struct spans *spans;
    struct collective *c;
    struct trainer *plain, *bucketed;
    struct reducer *reducer;
    float *mine, *theirs;
    size_t count;
};

static struct trainer *new_trainer(const struct workload *workload, const struct run *run)
{
    struct trainer *t = trainer_open(workload, run, BATCH);
    trainer_restart(t, share_even(run, world_rank(world)), 0, 1.0f / (float)run_global_batch(run));
    return t;
}

static struct pair pair_open(const struct workload *workload, const struct reducer_settings *settings)
{
    const struct run run = tiny_run(world_size(world), BATCH);
    struct pair p = { 0 };
    p.plain = new_trainer(workload, &run);
    p.bucketed = new_trainer(workload, &run);
    p.count = p.plain->count;
    p.mine = memory_new(p.count, sizeof *p.mine);
    p.theirs = memory_new(p.count, sizeof *p.theirs);
    p.spans = memory_new(1, sizeof *p.spans);
    spans_open(p.spans, 4096);
    p.c = collective_open(world, p.spans);
    collective_check(p.c, CHECK_EACH);
    p.reducer = reducer_open(p.bucketed->model, world_size(world));
    reducer_restart(p.reducer, p.c, settings);
    model_hook(p.bucketed->model, reducer_hooks(p.reducer));
    return p;
}

static void pair_close(struct pair *p)
{
    assert_int_equal(collective_wrong(p->c).count, 0);
    reducer_close(p->reducer);
    trainer_close(p->plain);
    trainer_close(p->bucketed);
    collective_close(p->c);
    spans_close(p->spans);
    free(p->spans);
    free(p->mine);
    free(p->theirs);
}

static void backward_of(struct trainer *t)
{
    device_wait(); /* the loader overwrites an earlier batch */
    const struct batch *batch = trainer_next(t, NO_STALL);
    trainer_forward(t, batch);
    trainer_backward(t, batch);
}

/* Sum the gradients of both; leave them in p->theirs and p->mine. */
static void step(struct pair *p)
{
    backward_of(p->plain);
    collective_run(p->c, all_reduce(TYPE_F32, p->plain->gradients, p->plain->gradients, p->count));
    backward_of(p->bucketed);
    reducer_finish(p->reducer);
    device_fetch(p->theirs, p->plain->gradients, p->count * sizeof(float));
    device_fetch(p->mine, p->bucketed->gradients, p->count * sizeof(float));
}

static double largest(const float *x, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs((double)x[i]));
    return most;
}

static void assert_gradients(const struct pair *p, double tolerance)
{
    for (size_t i = 0; i < p->count; i++)
        if (!(fabs((double)p->mine[i] - (double)p->theirs[i]) <= tolerance))
            fail_msg("gradient %zu is %g, not %g", i, (double)p->mine[i], (double)p->theirs[i]);
}

/* Train for a few steps. `tolerance`: of a gradient, relative to the largest one. */
static void compare(const struct workload *workload, const struct reducer_settings *settings, double tolerance)
{
    struct pair p = pair_open(workload, settings);
    for (int i = 0; i < STEPS; i++) {
        step(&p);
        if (settings->wire == WIRE_F32 && world_size(world) <= 2)
            assert_memory_equal(p.mine, p.theirs, p.count * sizeof *p.mine);
        assert_gradients(&p, tolerance * largest(p.theirs, p.count));
        trainer_update(p.plain);
        trainer_update_by(p.bucketed,
                          p.plain->gradients); /* so that the next step compares gradients of equal parameters */
    }
    pair_close(&p);
}

TEST(gradients_are_those_of_the_plain_sum)
{
    const struct workload models[] = { mlp_of(1), mlp_of(4), tiny_transformer() };
    const size_t caps[] = { 1, 50, 100, 300, ALL };
    for (int model = 0; model < 3; model++)
        for (int cap = 0; cap < 5; cap++)
            for (int way = 0; way < 4; way++)
                compare(&models[model],
                        &(struct reducer_settings){ .first = caps[cap] / 4 + 1,
                                                    .most = caps[cap],
                                                    .in_model_order = way & 1,
                                                    .rebuilds = way & 1,
                                                    .waits = way & 2 },
                        2e-6);
}

TEST(bf16_keeps_eight_bits)
{
    const struct workload workload = mlp_of(3);
    compare(&workload, &(struct reducer_settings){ .first = 40, .most = 90, .wire = WIRE_BF16 },
            world_size(world) / 256.0);
}

/* Three micro-batches, two of them under no_sync, are those of the plain sum of what each rank has added up. */
TEST(no_sync_adds_up_and_sends_once)
{
    const struct workload workload = mlp_of(3);
    struct pair p = pair_open(&workload, &(struct reducer_settings){ .first = 1, .most = 60, .accumulates = true });
    float *total = device_new(MEMORY_DATA, p.count, sizeof *total);
    for (int i = 0; i < STEPS; i++) {
        spans_restart(p.spans, 0, 0);
        for (int micro = 0; micro < 3; micro++) {
            backward_of(p.plain);
            if (micro == 0)
                device_copy(total, p.plain->gradients, p.count);
            else
                device_add(total, p.plain->gradients, p.count);
            reducer_no_sync(p.reducer, micro < 2);
            backward_of(p.bucketed);
            reducer_finish(p.reducer);
            assert_int_equal(p.spans->count, micro < 2 ? 0 : reducer_buckets(p.reducer)->count);
        }
        collective_run(p.c, all_reduce(TYPE_F32, total, total, p.count));
        device_fetch(p.theirs, total, p.count * sizeof(float));
        device_fetch(p.mine, p.bucketed->gradients, p.count * sizeof(float));
        if (world_size(world) <= 2)
            assert_memory_equal(p.mine, p.theirs, p.count * sizeof *p.mine);
        assert_gradients(&p, 2e-6 * largest(p.theirs, p.count));
    }
    device_free(total);
    pair_close(&p);
}

/* Return the buckets after a few steps: their number, and the layer that the first one waits for. */
static struct bucket first_bucket(struct reducer_settings settings, int steps, int *count)
{
    const struct workload workload = mlp_of(4);
    struct pair p = pair_open(&workload, &settings);
    for (int i = 0; i < steps; i++)
        step(&p);
    const struct buckets *buckets = reducer_buckets(p.reducer);
    const struct bucket first = buckets->at[0];
    *count = buckets->count;
    pair_close(&p);
    return first;
}

TEST(the_order_of_backward_replaces_that_of_the_model)
{
    int count;
    const struct reducer_settings wrong = { .first = 1, .most = 1, .in_model_order = true };
    struct reducer_settings rebuilt = wrong;
    rebuilt.rebuilds = true;
    assert_int_equal(first_bucket(wrong, 2, &count).first_tensor, 0);
    assert_int_equal(count, 8);
    assert_int_equal(first_bucket(rebuilt, 0, &count).first_tensor, 0);
    assert_int_equal(first_bucket(rebuilt, 1, &count).first_tensor, 7); /* the last layer's bias */
    assert_int_equal(count, 8);
}

/* Return the number of sums that started before the last layer's gradients were ready, in one step. */
static int started_during_backward(struct reducer_settings settings)
{
    const struct workload workload = mlp_of(4);
    struct pair p = pair_open(&workload, &settings);
    backward_of(p.plain); /* without the hook, so that spans begin with the reducer's */
    model_hook(p.bucketed->model, (struct model_hooks){ 0 });
    backward_of(p.bucketed);
    spans_restart(p.spans, 0, 0);
    for (int layer = 3; layer > 0; layer--)
        reducer_ready(p.reducer, layer);
    const int started = p.spans->count;
    reducer_ready(p.reducer, 0);
    reducer_finish(p.reducer);
    pair_close(&p);
    return started;
}

TEST(buckets_start_in_order_as_soon_as_they_are_ready)
{
    const struct reducer_settings per_tensor = { .first = 1, .most = 1 };
    struct reducer_settings wrong = per_tensor, waits = per_tensor, two_layers = { .first = 101, .most = 101 };
    wrong.in_model_order = true;
    waits.waits = true;
    assert_int_equal(started_during_backward(per_tensor), 6);
    assert_int_equal(started_during_backward(two_layers),
                     1); /* of layers 50, 90, 90, 72: two above 100, two are left */
    assert_int_equal(started_during_backward(wrong), 0);
    assert_int_equal(started_during_backward(waits), 0);
}

/* The sum of all sent gradients and of the errors that the ranks still have is the sum of all gradients. Parameters do not change. */
TEST(what_low_rank_leaves_out_is_sent_later)
{
    const struct workload workload = mlp_of(3);
    const double tolerance = 1e-5;
    struct pair p = pair_open(&workload, &(struct reducer_settings){ .first = 1, .most = 60, .wire = WIRE_LOW_RANK });
    double *balance = memory_new(p.count, sizeof *balance), most = 0, apart = 0;
    for (int i = 0; i < 5; i++) {
        step(&p);
        most = fmax(most, largest(p.theirs, p.count));
        for (size_t k = 0; k < p.count; k++) {
            balance[k] += (double)p.theirs[k] - (double)p.mine[k];
            apart = fmax(apart, fabs((double)p.theirs[k] - (double)p.mine[k]));
        }
    }
    assert_true(apart > 0.01 * most); /* it does leave something out */
    float *error = device_new(MEMORY_DATA, p.count, sizeof *error), *left = memory_new(p.count, sizeof *left);
    device_copy(error, low_rank_error(reducer_low_rank(p.reducer)), p.count);
    collective_run(p.c, all_reduce(TYPE_F32, error, error, p.count));
    device_fetch(left, error, p.count * sizeof *left);
    assert_true(largest(left, p.count) > 0.01 * most);
    for (size_t k = 0; k < p.count; k++)
        if (!(fabs(balance[k] - (double)left[k]) <= tolerance * most))
            fail_msg("of gradient %zu %g was not sent, but the errors are %g", k, balance[k], (double)left[k]);
    device_free(error);
    free(left);
    free(balance);
    pair_close(&p);
}

/* A matrix of rank 1 is sent whole: with one sample, the gradient of a linear layer is one. */
TEST(low_rank_sends_a_product_of_two_vectors_whole)
{
    if (world_size(world) > 1)
        return; /* the ranks' samples differ: the sum has a higher rank */
    struct workload workload = mlp_of(1);
    struct pair p = pair_open(&workload, &(struct reducer_settings){ .first = 1, .most = 1, .wire = WIRE_LOW_RANK });
    const struct share one = { .global_batch = 1, .samples = 1 };
    trainer_restart(p.plain, one, 0, 1);
    trainer_restart(p.bucketed, one, 0, 1);
    step(&p);
    assert_gradients(&p, 1e-6 * largest(p.theirs, p.count));
    pair_close(&p);
}

/* --- ranks that do not do the same ------------------------------------------------------------------------------- */

enum { UNUSED_LAYER = 2 };

static bool is_last(void)
{
    return world_rank(world) == world_size(world) - 1;
}

/* The last rank does not use a layer. */
static bool is_used(const void *argument, int layer)
{
    (void)argument;
    return !is_last() || layer != UNUSED_LAYER;
}

/* Sum gradients without those of the unused layer on the last rank. Return the number of sums that started before the end of backward. */
static int step_without(struct pair *p, enum unused unused)
{
    const struct model_layer *layer = &p->plain->model->layer[UNUSED_LAYER];
    backward_of(p->plain);
    if (is_last())
        device_fill(layer->gradients, 0, layer->count);
    collective_run(p->c, all_reduce(TYPE_F32, p->plain->gradients, p->plain->gradients, p->count));
    spans_restart(p->spans, 0, 0);
    device_wait();
    const struct batch *batch = trainer_next(p->bucketed, NO_STALL);
    trainer_forward(p->bucketed, batch);
    if (unused == UNUSED_FOUND)
        reducer_find_unused(p->reducer, is_used, NULL);
    trainer_backward(p->bucketed, batch);
    const int started = p->spans->count;
    reducer_finish(p->reducer);
    device_fetch(p->theirs, p->plain->gradients, p->count * sizeof(float));
    device_fetch(p->mine, p->bucketed->gradients, p->count * sizeof(float));
    return started;
}

TEST(zeros_take_the_place_of_unused_gradients)
{
    const struct workload workload = mlp_of(4);
    const int layers = 4, before = layers - 1 - UNUSED_LAYER;
    for (enum unused unused = UNUSED_ZEROS; unused < UNUSED_WAYS; unused++)
        for (int rebuilds = 0; rebuilds < 2; rebuilds++) {
            struct pair p = pair_open(
                &workload, &(struct reducer_settings){
                               .first = 1, .most = 1, .unused = unused, .rebuilds = rebuilds, .is_shared = rebuilds });
            model_freeze(p.bucketed->model, is_last() ? UNUSED_LAYER : -1);
            for (int i = 0; i < STEPS; i++) {
                const int started = step_without(&p, unused);
                const bool is_early = !is_last() || unused == UNUSED_FOUND || (unused == UNUSED_LEARNT && i > 0);
                if (!rebuilds)
                    assert_int_equal(started, 2 * (is_early ? layers : before)); /* a weight and a bias for each */
                if (world_size(world) <= 2)
                    assert_memory_equal(p.mine, p.theirs, p.count * sizeof *p.mine);
                assert_gradients(&p, 2e-6 * largest(p.theirs, p.count));
                const int users = world_size(world) - 1;
                assert_int_equal(reducer_users(p.reducer, UNUSED_LAYER), unused == UNUSED_FOUND ? users : -1);
                assert_int_equal(reducer_users(p.reducer, 0), unused == UNUSED_FOUND ? users + 1 : -1);
            }
            pair_close(&p);
        }
}

/* The last rank has no batch in every second step. */
TEST(a_shadow_adds_zeros)
{
    const struct workload workload = mlp_of(3);
    struct pair p = pair_open(&workload, &(struct reducer_settings){ .first = 1, .most = 60 });
    struct join *join = join_open(p.c);
    for (int i = 0; i < STEPS; i++) {
        const bool has_batch = !is_last() || i % 2 == 0;
        backward_of(p.plain);
        if (!has_batch)
            device_fill(p.plain->gradients, 0, p.count);
        collective_run(p.c, all_reduce(TYPE_F32, p.plain->gradients, p.plain->gradients, p.count));
        assert_int_equal(join_step(join, has_batch), world_size(world) - i % 2);
        if (has_batch) {
            backward_of(p.bucketed);
            reducer_finish(p.reducer);
        } else {
            trainer_next(p.bucketed, NO_STALL); /* so that both trainers have the same batches again */
            reducer_shadow(p.reducer);
        }
        device_fetch(p.theirs, p.plain->gradients, p.count * sizeof(float));
        device_fetch(p.mine, p.bucketed->gradients, p.count * sizeof(float));
        assert_gradients(&p, 2e-6 * largest(p.theirs, p.count));
    }
    assert_int_equal(join_step(join, false), 0);
    join_close(join);
    pair_close(&p);
}

TEST(rank_0_shares_its_buckets)
{
    const struct workload workload = mlp_of(3);
    const size_t cap = world_rank(world) == 0 ? 60 : 1;
    struct pair p = pair_open(&workload, &(struct reducer_settings){ .first = cap, .most = cap, .is_shared = true });
    const struct buckets of_0 = buckets_of_model(&workload, false, 60, 60), *mine = reducer_buckets(p.reducer);
    assert_int_equal(mine->count, of_0.count);
    for (int i = 0; i < of_0.count; i++) {
        assert_int_equal(mine->at[i].begin, of_0.at[i].begin);
        assert_int_equal(mine->at[i].count, of_0.at[i].count);
        assert_int_equal(mine->at[i].layer, of_0.at[i].layer);
    }
    step(&p);
    assert_gradients(&p, 2e-6 * largest(p.theirs, p.count));
    pair_close(&p);
}

/* Gradients that all ranks compute in one order, but not in that of the buckets. */
TEST(buckets_may_start_as_they_become_ready)
{
    const struct reducer_settings any = { .first = 1, .most = 1, .in_model_order = true, .in_any_order = true };
    assert_int_equal(started_during_backward(any), 6);
    const struct workload workload = mlp_of(4);
    compare(&workload, &any, 2e-6);
}

AROUND_TESTS(open_ranks, close_ranks)
