/* A transformer that computes activations again: the same gradients to the bit, in the memory that it says. */
#include "base/ledger.h"
#include "base/memory.h"
#include "device/device.h"
#include "model/trainer.h"
#include "support/on_device.h"
#include "support/tiny_models.h"
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>

enum { BATCH = 6, STEPS = 2, BLOCKS = 5 };

static struct workload stack(int blocks, struct recomputing recompute)
{
    struct workload workload = tiny_transformer();
    workload.of.transformer.num_blocks = blocks;
    workload.of.transformer.recompute = recompute;
    return workload;
}

/* Train a few steps and return the gradients and then the parameters (2 x count). Free them. */
static float *train(const struct workload *workload, double *loss)
{
    const struct run run = tiny_run(1, BATCH);
    struct trainer *t = trainer_open(workload, &run, BATCH);
    float *all = memory_new(2 * t->count, sizeof *all);
    trainer_restart(t, share_even(&run, 0), 0, 1.0f / BATCH);
    for (int step = 0; step < STEPS; step++) {
        const struct batch *batch = trainer_next(t, NO_STALL);
        trainer_forward(t, batch);
        trainer_backward(t, batch);
        trainer_update(t);
    }
    *loss = trainer_loss(t, 1);
    device_fetch(all, t->gradients, t->count * sizeof *all);
    device_fetch(all + t->count, t->parameters, t->count * sizeof *all);
    trainer_close(t);
    return all;
}

static void assert_same(int blocks, struct recomputing recompute)
{
    const struct workload whole = stack(blocks, (struct recomputing){ 0 }), again = stack(blocks, recompute);
    double losses[2];
    float *usual = train(&whole, &losses[0]), *other = train(&again, &losses[1]);
    assert_memory_equal(usual, other, 2 * workload_parameters(&whole) * sizeof *usual);
    assert_memory_equal(&losses[0], &losses[1], sizeof losses[0]);
    free(usual);
    free(other);
}

TEST(gradients_are_the_same_to_the_bit)
{
    for (int blocks = 1; blocks <= BLOCKS; blocks++) {
        for (int every = 1; every <= blocks + 1; every++)
            assert_same(blocks, (struct recomputing){ .every = every });
        assert_same(blocks, (struct recomputing){ .attention_only = true });
    }
}

/* The peak memory of a step of BLOCKS blocks, and the memory that its pool keeps then, are as the model says. */
TEST(memory_is_what_it_says)
{
    static const enum memory_owner owners[] = { MEMORY_PARAMETERS, MEMORY_MOMENTS, MEMORY_ACTIVATIONS, MEMORY_CACHED };
    const double losses = LOSSES_KEPT * sizeof(double);
    const struct run run = tiny_run(1, BATCH);
    for (int every = 0; every <= BLOCKS; every++)
        for (int attention_only = 0; attention_only < (every > 0 ? 1 : 2); attention_only++) {
            const struct workload w = stack(BLOCKS, (struct recomputing){ every, attention_only });
            struct trainer *t = trainer_open(&w, &run, BATCH);
            struct memory_estimate says = trainer_memory(&w, &run, BATCH);
            const size_t all = ledger_total(ledger_now(MEMORY_HOST).of);
            says.of[MEMORY_ACTIVATIONS] += losses;
            trainer_restart(t, share_even(&run, 0), 0, 1.0f / BATCH);
            const struct batch *batch = trainer_next(t, NO_STALL);
            ledger_restart_peak();
            trainer_forward(t, batch);
            trainer_backward(t, batch);
            const struct ledger_sums peak = ledger_peak(MEMORY_HOST).sums;
            for (int i = 0; i < 4; i++)
                assert_true(fabs(says.of[owners[i]] - (double)peak.of[owners[i]]) < 1);
            assert_int_equal(ledger_total(ledger_now(MEMORY_HOST).of), all); /* a step allocates nothing */
            trainer_close(t);
        }
}

/* With rows R and width C: of 12 R C and a little, a block whose input alone is kept holds R C. */
TEST(memory_falls_as_counted)
{
    const struct batch_most most = { .samples = 4, .rows = 4 * 128, .length = 128 };
    struct workload w = published_transformer;
    w.of.transformer.num_blocks = 16;
    const double R = most.rows, C = w.of.transformer.hidden_dim, H = w.of.transformer.num_heads,
                 of_attention = 5 * C + 2 + H, of_block = 7 * C + 2, all = of_attention + of_block;
    double bytes[4];
    for (int i = 0; i < 4; i++) {
        w.of.transformer.recompute.every = i == 3 ? 0 : i * i; /* all kept; 1; 4 */
        w.of.transformer.recompute.attention_only = i == 3;
        bytes[i] = model_memory(&w, most).of[MEMORY_ACTIVATIONS];
    }
    assert_true(fabs(bytes[0] - bytes[1] - 4 * R * (15 * all - 15 * C)) < 1);
    assert_true(fabs(bytes[0] - bytes[2] - 4 * R * (12 * all - 3 * C)) < 1);
    assert_true(fabs(bytes[0] - bytes[3] - 4 * R * 15 * of_attention) < 1);
}

/* Every operation of the blocks is computed again, except the last run's; or attention alone, except the last block's. */
TEST(what_is_computed_again_is_counted)
{
    struct workload w = published_transformer;
    w.of.transformer.num_blocks = 8;
    const struct work work = workload_work(&w, 4);
    const double C = w.of.transformer.hidden_dim, tokens = work.padded_tokens, pairs = work.padded_token_length,
                 block = 2 * (tokens * 8 * C * C + pairs * 2 * C), attention = 2 * (tokens * 3 * C * C + pairs * 2 * C);
    const double forward = workload_flops(&w, work) / 3; /* backward has twice as many */
    const double expected[] = { 0, 7 * block, 6 * block, 6 * block, 4 * block };
    for (int every = 0; every < 5; every++) { /* 8 = 3 + 3 + 2 = 4 + 4 */
        w.of.transformer.recompute.every = every;
        assert_true(fabs(workload_again_share(&w, work) * forward / block - expected[every] / block) < 1e-9);
    }
    w.of.transformer.recompute = (struct recomputing){ .attention_only = true };
    assert_true(fabs(workload_again_share(&w, work) * forward / attention - 7) < 1e-9);
}

AROUND_TESTS(open_device, device_close)
