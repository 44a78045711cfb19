/* test_zero.c: train a model whose moments, gradients and parameters the ranks divide beside the same model held whole on every rank,
 * under mpirun, on any number of ranks. With two ranks all parameters are equal to the bit, since a + b is b + a; with more, up to the
 * order of the sums. */
#include "base/memory.h"
#include "collective/collective.h"
#include "collective/spans.h"
#include "collective/zero.h"
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

enum { STEPS = 2, BATCH = 6 };

static void fetch(float *host, const float *memory, size_t count)
{
    device_fetch(host, memory, count * sizeof *host);
}

/* Train both for a few steps on the same batches, and compare losses and parameters after each. */
static void compare(const struct workload *workload, struct zero_plan plan)
{
    const struct run run = tiny_run(world_size(world), BATCH);
    struct spans spans;
    spans_open(&spans, 4096);
    struct collective *c = collective_open(world, &spans);
    const struct group *all = collective_split(c, 0, 0);
    struct trainer *whole = trainer_open(workload, &run, BATCH);
    struct zero *zero = zero_open(workload, run.seed, loader_most(workload, BATCH), plan, c, all);
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
        zero_forward(zero, batch);
        zero_backward(zero, batch);
        zero_update(zero);
        zero_gather(zero, gathered);
        fetch(mine, whole->parameters, whole->count);
        fetch(theirs, gathered, whole->count);
        if (world_size(world) <= 2)
            assert_memory_equal(mine, theirs, whole->count * sizeof *mine);
        double apart = 0;
        for (size_t i = 0; i < whole->count; i++)
            apart += (double)fabsf(mine[i] - theirs[i]) / (double)whole->count;
        assert_true(apart <= 1e-3 * workload_learning_rate(
                                        workload)); /* a wrong gradient moves a parameter by up to twice the rate */
        assert_true(fabs(trainer_loss(whole, 1) - model_loss(zero_model(zero), 1)) <= 1e-5);
    }
    assert_int_equal(collective_wrong(c).count, 0);
    free(mine);
    free(theirs);
    device_free(gathered);
    zero_close(zero);
    trainer_close(whole);
    collective_close(c);
    spans_close(&spans);
}

/* All ways to divide a model. */
static const struct zero_plan plans[] = {
    { .stage = 0 },
    { .stage = 1 },
    { .stage = 2 },
    { .stage = 3 },
    { .stage = 3, .ahead = 1 },
    { .stage = 3, .ahead = LAYERS_MOST },
    { .stage = 2, .keeps_gradients = true },
    { .stage = 0, .offload = "." },
    { .stage = 3, .offload = "." },
};
enum { PLANS = sizeof plans / sizeof *plans };

TEST(divided_models_train_as_the_whole_one_does)
{
    for (int i = 0; i < PLANS; i++) {
        for (int layers = 1; layers <= 4; layers++) {
            struct workload workload = mlp_of(layers);
            compare(&workload, plans[i]);
        }
        struct workload texts = tiny_transformer();
        compare(&texts, plans[i]);
    }
}

/* Backward then asks for layers in another order. */
TEST(activations_may_be_computed_again)
{
    for (int i = 0; i < PLANS; i++)
        for (int every = 1; every <= 3; every++) {
            struct workload texts = tiny_transformer();
            texts.of.transformer.num_blocks = 5;
            texts.of.transformer.recompute.every = every;
            compare(&texts, plans[i]);
        }
}

/* Return the number of floats that a rank received by collectives of a kind in one step of forward, backward and update. */
static double received(enum span_kind kind, const struct workload *workload, struct zero_plan plan)
{
    const struct run run = tiny_run(world_size(world), BATCH);
    struct spans spans;
    spans_open(&spans, 256);
    struct collective *c = collective_open(world, &spans);
    struct trainer *data = trainer_open(workload, &run, BATCH);
    trainer_restart(data, share_even(&run, world_rank(world)), 0, 1);
    struct zero *zero = zero_open(workload, run.seed, loader_most(workload, BATCH), plan, c, collective_split(c, 0, 0));
    const struct batch *batch = trainer_next(data, NO_STALL);
    spans_restart(&spans, 0, 0);
    zero_forward(zero, batch);
    zero_backward(zero, batch);
    zero_update(zero);
    double floats = 0;
    for (int i = 0; i < spans.count; i++) {
        const struct span *s = &spans.at[i];
        if (s->kind == kind)
            floats += collective_traffic(kind, world_size(world), s->bytes, s->to, s->from).received / sizeof(float);
    }
    zero_close(zero);
    trainer_close(data);
    collective_close(c);
    spans_close(&spans);
    return floats;
}

/* Return the floats that a rank receives in a step by collectives of a kind if each is a ring. */
static double counted(enum collective_kind kind, const struct workload *workload, struct zero_plan plan, int ranks)
{
    struct zero_call calls[ZERO_CALLS_MOST];
    const int count = zero_calls(workload, plan, ranks, calls);
    double floats = 0;
    for (int i = 0; i < count; i++)
        if (calls[i].kind == kind)
            floats += (ranks - 1) * (double)calls[i].count * (kind == ALL_REDUCE ? 2.0 / ranks : 1);
    return floats;
}

TEST(messages_are_those_of_the_formula)
{
    struct workload again = tiny_transformer();
    again.of.transformer.num_blocks = 5;
    again.of.transformer.recompute.every = 2;
    const struct workload workloads[] = { mlp_of(1), mlp_of(3), tiny_transformer(), again };
    static const enum span_kind kinds[] = { SPAN_ALL_REDUCE, SPAN_ALL_GATHER, SPAN_REDUCE_SCATTER };
    static const enum collective_kind calls[] = { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER };
    for (int i = 0; i < PLANS; i++)
        for (int w = 0; w < 4; w++)
            for (int kind = 0; kind < 3; kind++)
                assert_true(fabs(received(kinds[kind], &workloads[w], plans[i]) -
                                 counted(calls[kind], &workloads[w], plans[i], world_size(world))) < 0.5);
}

/* Each rank sends 2 P in stages 0 to 2 and 3 P in stage 3, times (n - 1) / n, of a model without many small layers. */
TEST(stage_3_sends_half_as_much_again)
{
    const struct workload mlp = stacked_mlp;
    const double all = (double)workload_parameters(&mlp);
    static const double parts[PLANS] = {
        2, 2, 2, 3 - 1.0 / 12, 3 - 2.0 / 12, 2, 2, 2, 3 - 1.0 / 12
    }; /* the last layers of 12, or all, are there since forward */
    for (int i = 0; i < PLANS; i++) {
        double sum = 0;
        for (int kind = ALL_REDUCE; kind <= REDUCE_SCATTER; kind++)
            sum += counted((enum collective_kind)kind, &mlp, plans[i], 64);
        assert_true(fabs(sum / (all * 63 / 64) - parts[i]) < 0.01);
    }
}

/* A rank holds what it says. At the peak of a step, all that it takes for a while is in use. */
TEST(memory_is_that_of_the_formula)
{
    static const enum memory_owner owners[] = { MEMORY_PARAMETERS, MEMORY_GRADIENTS, MEMORY_MOMENTS,
                                                MEMORY_COMMUNICATION };
    const struct run run = tiny_run(world_size(world), BATCH);
    const struct workload mlp = mlp_of(3);
    struct collective *c = collective_open(world, NULL);
    struct trainer *data = trainer_open(&mlp, &run, BATCH);
    trainer_restart(data, share_even(&run, world_rank(world)), 0, 1);
    const struct batch *batch = trainer_next(data, NO_STALL);
    for (int i = 0; i < PLANS; i++) {
        const struct ledger_sums before = ledger_now(device_place());
        struct zero *zero = zero_open(&mlp, 1, data->most, plans[i], c, NULL);
        const size_t all = ledger_total(ledger_now(device_place()).of);
        ledger_restart_peak();
        zero_forward(zero, batch);
        zero_backward(zero, batch);
        zero_update(zero);
        const struct ledger_sums peak = ledger_peak(device_place()).sums;
        const struct memory_estimate says = zero_memory(&mlp, data->most, plans[i], world_size(world));
        for (int k = 0; k < 4; k++)
            assert_true(fabs((double)(peak.of[owners[k]] - before.of[owners[k]]) - says.of[owners[k]]) < 1);
        assert_int_equal(ledger_total(ledger_now(device_place()).of), all); /* a step allocates nothing */
        zero_close(zero);
        assert_int_equal(ledger_total(ledger_now(device_place()).of), ledger_total(before.of));
    }
    trainer_close(data);
    collective_close(c);
}

/* The paper's rule: of 16 bytes a parameter, 8 + 8 / n, 4 + 12 / n and 16 / n are left. */
TEST(a_rank_holds_its_part)
{
    const struct batch_most none = { 0 };
    const double all = workload_gradient_bytes(&published_mlp), layer = 1025 * 1024 * sizeof(float); /* the largest */
    static const double whole[PLANS] = { 4, 2, 1, 0, 0, 0, 1, 4, 0 }, layers[PLANS] = { 0, 0, 1, 2, 3, 4, 3, 0, 2 };
    for (int i = 0; i < PLANS; i++)
        for (int ranks = 1; ranks <= 64; ranks *= 8) {
            const struct memory_estimate memory = zero_memory(&published_mlp, none, plans[i], ranks);
            double expected = whole[i] * all + (4 - whole[i]) * all / ranks;
            if (plans[i].offload) /* of the two moments only those of a layer */
                expected -= 2 * (all - layer) / (plans[i].stage > 0 ? ranks : 1);
            assert_true(fabs(memory_estimate_model(&memory) / expected - 1) < 1e-3);
            assert_true(fabs(memory.of[MEMORY_COMMUNICATION] - layers[i] * layer) < 1e-3 * layer);
        }
}

AROUND_TESTS(open_ranks, close_ranks)
