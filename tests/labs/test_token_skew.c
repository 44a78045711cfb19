/* test_token_skew.c: test parts of lab 05 that the machine of round numbers (tests/sim) does not reach: shared cores, a window of the
 * published steps, and the cases that flags select. */
#include "labs/05_token_skew.h"

#include "support/formula.h"

/* Return a card. Milliseconds: 6 per batch (0.2 of them fetch, 4 update), 2 per 1000 padded tokens; T = 10. */
static struct card text_card(int cores)
{
    struct card card = round_card(4, cores);
    card.alone.passes = card.together.passes =
        (struct cost){ { [COST_FIXED] = 1.8e-3, [COST_PER_PADDED_TOKEN] = 2e-6 } };
    return card;
}

/* Run four ranks with 10, 20, 30 and 40 ms of work on two cores: all run at half speed until 20, three at two thirds until
 * 35, then each has a core. The last rank has 20 left at 35. */
TEST(ranks_without_a_core_take_turns)
{
    struct token_batch batch[4];
    struct token_batch *of[4];
    for (int rank = 0; rank < 4; rank++) {
        batch[rank] = (struct token_batch){ .samples = 1, .padded = 2000 + 5000 * rank };
        of[rank] = &batch[rank];
    }
    struct batch_schedule schedule = { .ranks = 4, .batches = (int[]){ 1, 1, 1, 1 }, .batch = of };
    struct options o = { .run = run_published_texts, .model = published_transformer };
    o.run.ranks = 4;
    struct card card = text_card(2);
    struct prediction p = predict_one(&o, &card, &schedule, 0);
    assert_ms(p, 55 + 10);
    assert_true(p.is_timeshared);
    card = text_card(4);
    p = predict_one(&o, &card, &schedule, 0);
    assert_ms(p, 40 + 10);
    assert_false(p.is_timeshared);
    assert_true(fabs(1e3 * p.wait - (40 - (10 + 20 + 30 + 40) / 4)) <= 1e-6);
}

/* Check a window of the published steps: the first steps are skipped, and warm-up comes before them. */
TEST(a_window_is_the_published_steps)
{
    struct options o = { .run = run_published_texts,
                         .model = published_transformer,
                         .policy = batching_policies[TOKENS_BUCKET] };
    o.run.ranks = 4;
    assert_int_equal(first_step(&o), 2);
    assert_int_equal(last_step(&o), 12);
    o.run.skip_first_steps = 10;
    assert_int_equal(first_step(&o), 10);
    assert_int_equal(last_step(&o), 12);
    struct token_count *count = tokens(&o); /* padded tokens of the published steps 10 and 11 */
    assert_true(fabs(count->means.padded - (1928 + 1992 + 1888 + 1968 + 680 + 672 + 672 + 680) / 2.0) <= 1e-9);
    token_count_close(count);
}

/* A budget deals unequal numbers of batches to the ranks. They are those of an epoch, whatever steps are measured. */
TEST(a_count_has_the_batches_of_each_rank)
{
    struct options o = { .run = run_published_texts,
                         .model = published_transformer,
                         .policy = batching_policies[TOKENS_BUDGET] };
    o.run.ranks = 4;
    struct token_count *count = tokens(&o);
    const int batches[] = { 94, 93, 92, 93 };
    assert_memory_equal(count->batches_of, batches, sizeof batches);
    assert_int_equal(count->epoch.dropped_tokens, 4876);
    token_count_close(count);
}

static void assert_narrowed(int strategy, int length_mode, const char *names)
{
    struct options o = { .strategy = strategy, .length_mode = length_mode };
    narrow(&o);
    char got[200] = "";
    for (int i = 0; i < o.run.cases.count; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s ", o.run.cases.text[i]);
    assert_string_equal(got, names);
}

TEST(flags_name_the_published_cases)
{
    assert_narrowed(0, ANY, "");
    assert_narrowed(1, ANY, "variable_sample_ws4 ");
    assert_narrowed(2, ANY, "variable_bucket_ws4 ");
    assert_narrowed(3, VARIABLE, "variable_token_ws4 ");
    assert_narrowed(1, FIXED, "fixed_sample_ws4 ");
    assert_narrowed(0, FIXED, "fixed_sample_ws4 ");
    assert_narrowed(0, VARIABLE, "variable_sample_ws4 variable_bucket_ws4 variable_token_ws4 ");
}
