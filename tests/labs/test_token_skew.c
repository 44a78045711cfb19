/* test_token_skew.c: test the formula of lab 05 with a machine card of round numbers: the slowest rank determines each
 * step, and the result is the mean over the measured steps. */
#define main lab_main
#include "../../labs/05_token_skew.c"
#undef main

#include "support/formula.h"

/* Return a card. Milliseconds: 6 per batch (0.2 of them fetch, 4 update), 2 per 1000 padded tokens, 1 per 100,000
 * tokens x length; T = 10. */
static struct card text_card(int ranks, int cores)
{
    struct card card = round_card(ranks, cores);
    struct cost passes = {
        { [COST_FIXED] = 1.8e-3, [COST_PER_PADDED_TOKEN] = 2e-6, [COST_PER_PADDED_TOKEN_LENGTH] = 1e-8 }
    };
    card.alone.passes = card.together.passes = passes;
    return card;
}

static struct options options_of(int ranks)
{
    struct options o = { .run = run_published_texts };
    o.run.ranks = ranks;
    return o;
}

static struct options settings(const char *name)
{
    return settings_of(name, options_of(4));
}

/* Batches of three ranks in two steps. In the first step the rank with most tokens is not the slowest, due to attention. */
static struct token_batch made_up[3][2] = {
    { { .samples = 10, .padded = 1000, .pairs = 100000 }, { .samples = 1, .padded = 500, .pairs = 50000 } },
    { { .samples = 4, .padded = 800, .pairs = 200000 }, { .samples = 2, .padded = 500, .pairs = 50000 } },
    { { .samples = 5, .padded = 100, .pairs = 10000 }, { .samples = 3, .padded = 3000, .pairs = 300000 } },
};
static const struct batch_schedule made_up_schedule = {
    .ranks = 3,
    .batches = (int[]){ 2, 2, 2 },
    .batch = (struct token_batch *[]){ made_up[0], made_up[1], made_up[2] },
};

static void the_longest_rank_sets_each_step(void **state)
{
    (void)state;
    struct card card = text_card(3, 4);
    struct options o = options_of(3);
    struct prediction first = predict_one(&o, &card, &made_up_schedule, 0);
    assert_ms("the first step", first, 6 + 1.6 + 2 + 10, exact); /* rank 1; rank 0 would be 6 + 2 + 1 */
    assert_true(fabs(1e3 * first.wait - (9.6 - (9 + 9.6 + 6.3) / 3)) <= 1e-6);
    assert_true(fabs(1e3 * first.data - 0.2) <= 1e-6);
    assert_true(first.host <= 0);
    struct prediction second = predict_one(&o, &card, &made_up_schedule, 1);
    assert_ms("the second step", second, 6 + 6 + 3 + 10, exact);
}

/* Run four ranks with 10, 20, 30 and 40 ms of work on two cores: all run at half speed until 20, three at two thirds until
 * 35, then each has a core. The last rank has 20 left at 35. */
static void ranks_without_a_core_take_turns(void **state)
{
    (void)state;
    struct token_batch batch[4];
    struct token_batch *of[4];
    for (int rank = 0; rank < 4; rank++) {
        batch[rank] = (struct token_batch){ .samples = 1, .padded = 2000 + 5000 * rank };
        of[rank] = &batch[rank];
    }
    struct batch_schedule schedule = { .ranks = 4, .batches = (int[]){ 1, 1, 1, 1 }, .batch = of };
    struct options o = options_of(4);
    struct card card = text_card(4, 2);
    struct prediction p = predict_one(&o, &card, &schedule, 0);
    assert_ms("four on two cores", p, 55 + 10, exact);
    assert_true(p.is_timeshared);
    card = text_card(4, 4);
    p = predict_one(&o, &card, &schedule, 0);
    assert_ms("four on four", p, 40 + 10, exact);
    assert_false(p.is_timeshared);
}

/* Check steps 2 … 11 of the published rows. With `sample`, some rank has a sequence of length 256 in each step. With
 * `bucket`, the largest batches are 8 x (231 225 65 80 255 133 114 175 249 85). */
static void the_published_steps_by_hand(void **state)
{
    (void)state;
    struct card card = text_card(4, 4);
    struct options base = options_of(4);
    assert_predicted("fixed_sample_ws4", base, &card, 6 + 2 * 1.024 + 1.024 * 1.28 + 10, exact);
    assert_predicted("variable_sample_ws4", base, &card, 6 + 2 * 2.048 + 2.048 * 2.56 + 10, exact);
    static const int longest[] = { 231, 225, 65, 80, 255, 133, 114, 175, 249, 85 };
    double padded = 0, pairs = 0;
    for (int i = 0; i < 10; i++) {
        padded += 8.0 * longest[i] / 10;
        pairs += 8.0 * longest[i] * longest[i] / 10;
    }
    assert_predicted("variable_bucket_ws4", base, &card, 6 + 2e-3 * padded + 1e-5 * pairs + 10, exact);
}

/* Set the attention term to 0. The step then follows from the mean over steps of the largest number of padded tokens, which
 * an independent Python program computed. */
static void every_epoch_by_its_longest_ranks(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int steps;
        double most_padded;
    } epochs[] = {
        { "epoch_sample", 96, 2044.75 },
        { "epoch_bucket", 96, 1195.75 },
        { "epoch_bucket_indep", 96, 1736.5 },
        { "epoch_token", 92, 1260.5869565217392 },
        { "epoch_token_indep", 92, 1268.75 },
        { "epoch_global_bucket", 96, 1175.5 },
        { "epoch_packed_filled", 94, 1251.1702127659576 },
    };
    struct card card = text_card(4, 4);
    card.alone.passes.term[COST_PER_PADDED_TOKEN_LENGTH] = card.together.passes.term[COST_PER_PADDED_TOKEN_LENGTH] = 0;
    for (size_t i = 0; i < sizeof epochs / sizeof *epochs; i++) {
        struct options o = settings(epochs[i].name);
        complete(&o);
        assert_int_equal(o.run.once, epochs[i].steps);
        assert_int_equal(first_step(&o), 0);
        assert_int_equal(last_step(&o), epochs[i].steps);
        assert_ms(epochs[i].name, predict(&o, &card), 6 + 2e-3 * epochs[i].most_padded + 10, exact);
    }
}

/* Check a window of the published steps: the first steps are skipped, and warm-up comes before them. */
static void a_window_is_the_published_steps(void **state)
{
    (void)state;
    struct options o = settings("variable_bucket_ws4");
    assert_int_equal(first_step(&o), 2);
    assert_int_equal(last_step(&o), 12);
    o.run.skip_first_steps = 10;
    assert_int_equal(first_step(&o), 10);
    assert_int_equal(last_step(&o), 12);
    struct token_count *count = tokens(&o); /* padded tokens of the published steps 10 and 11 */
    assert_true(fabs(count->means.padded - (1928 + 1992 + 1888 + 1968 + 680 + 672 + 672 + 680) / 2.0) <= 1e-9);
    token_count_close(count);
}

static void what_is_counted_is_what_is_dealt(void **state)
{
    (void)state;
    struct options o = settings("variable_token_ws4");
    struct token_count *count = tokens(&o);
    assert_true(fabs(count->means.useful - 4838.6) <= 1e-9);
    assert_true(fabs(count->samples - (8.3 + 8.1 + 7 + 8.1)) <= 1e-9);
    assert_true(fabs(count->useful_of[2] - 1187.7) <= 1e-9);
    token_count_close(count);
    o = settings("packed");
    count = tokens(&o);
    assert_true(fabs(count->means.useful - 4642.1) <= 1e-9);
    assert_true(fabs(count->means.padding_ratio) <= 0);
    token_count_close(count);
}

/* Check the ratio of largest to smallest batch: 10/4 in the first step, 3/1 in the second. */
static void weights_are_unequal_where_batches_are(void **state)
{
    (void)state;
    assert_true(fabs(batch_schedule_means(&made_up_schedule, 0, 1).unequal_weight - 2.5) <= 1e-12);
    assert_true(fabs(batch_schedule_means(&made_up_schedule, 0, 2).unequal_weight - 2.75) <= 1e-12);

    struct options o = settings("variable_token_ws4"); /* published batches; a Python program computed the ratio */
    struct batch_schedule *schedule = plan_of(&o);
    double unequal = batch_schedule_means(schedule, 0, batch_schedule_epoch(schedule)).unequal_weight;
    assert_true(fabs(unequal - 1.905378045867177) <= 1e-12);
    batch_schedule_close(schedule);
}

static void settings_that_work_together(void **state)
{
    (void)state;
    struct options o = settings("token_weighted");
    assert_true(o.weighs_by_texts && o.policy.limit == LIMIT_PADDED && !o.policy.is_independent);
    o = settings("token_pairs");
    assert_true(!o.weighs_by_texts && o.policy.limit == LIMIT_PAIRS);
    o = settings("bucket_independent");
    assert_true(o.policy.is_independent && o.policy.limit == LIMIT_SAMPLES && o.run.once == 0);
    o = settings("packed_filled");
    assert_true(o.policy.is_packed && !o.is_fixed);
    o = settings("fixed_sample_ws4");
    assert_true(o.is_fixed);
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

static void flags_name_the_published_cases(void **state)
{
    (void)state;
    assert_narrowed(0, ANY, "");
    assert_narrowed(1, ANY, "variable_sample_ws4 ");
    assert_narrowed(2, ANY, "variable_bucket_ws4 ");
    assert_narrowed(3, VARIABLE, "variable_token_ws4 ");
    assert_narrowed(1, FIXED, "fixed_sample_ws4 ");
    assert_narrowed(0, FIXED, "fixed_sample_ws4 ");
    assert_narrowed(0, VARIABLE, "variable_sample_ws4 variable_bucket_ws4 variable_token_ws4 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_rank_sets_each_step),       cmocka_unit_test(ranks_without_a_core_take_turns),
        cmocka_unit_test(the_published_steps_by_hand),           cmocka_unit_test(every_epoch_by_its_longest_ranks),
        cmocka_unit_test(a_window_is_the_published_steps),       cmocka_unit_test(what_is_counted_is_what_is_dealt),
        cmocka_unit_test(weights_are_unequal_where_batches_are), cmocka_unit_test(settings_that_work_together),
        cmocka_unit_test(flags_name_the_published_cases),
    };
    return cmocka_run_group_tests_name("token_skew", tests, NULL, NULL);
}
