/* test_small_work.c: test the formula of lab 04, every case, with a machine card of round numbers. */
#define main lab_main
#include "../../labs/04_small_work.c"
#undef main

#include "support/formula.h"

static struct options base_of(const struct card *card)
{
    struct options o = { .run = run_published, .micro_batches = 4, .times = 4 };
    o.run.ranks = card->ranks;
    return o;
}

static void assert_case(const char *name, const struct card *card, double expected)
{
    assert_predicted(name, base_of(card), card, expected, exact);
}

/* Check every case: 7.2 ms per step plus 0.1 per sample; T is 10 with four ranks, 6 with two. */
static void every_case_follows_its_formula(void **state)
{
    (void)state;
    struct card card = round_card(4, 4);
    assert_case("weak_ws4", &card, 7.2 + 12.8 + 10);
    assert_case("weak_ws1", &card, 7.2 + 12.8);
    assert_case("weak_ws2", &card, 7.2 + 12.8 + 6);
    assert_case("strong_ws1", &card, 7.2 + 51.2);
    assert_case("strong_ws2", &card, 7.2 + 25.6 + 6);
    assert_case("strong_ws4", &card, 7.2 + 12.8 + 10);
    assert_case("small_ws4", &card, 7.2 + 3.2 + 10);
    assert_case("small_accumulate", &card, 4 * (3.2 + 3.2) + 4 + 10);
    assert_case("small_sum_each", &card, 4 * (3.2 + 3.2) + 4 + 4 * 10);
    assert_case("larger_batch", &card, 7.2 + 51.2 + 10);
}

static void the_cut_and_the_larger_batch_are_settings(void **state)
{
    (void)state;
    struct card card = round_card(4, 4);
    struct options o = base_of(&card);
    o.micro_batches = 2;
    o.times = 3;
    assert_predicted("small_ws4", o, &card, 7.2 + 6.4 + 10, exact);
    assert_predicted("small_accumulate", o, &card, 2 * (3.2 + 6.4) + 4 + 10, exact);
    assert_predicted("small_sum_each", o, &card, 2 * (3.2 + 6.4) + 4 + 2 * 10, exact);
    assert_predicted("larger_batch", o, &card, 7.2 + 38.4 + 10, exact);
    o.micro_batches = 1; /* a single micro-batch needs no copy or addition */
    card.copy_bandwidth = 1e6;
    assert_predicted("small_accumulate", o, &card, 7.2 + 12.8 + 10, exact);
}

/* Let the gradients take 1 ms to read or write: the first of four is copied (2 ms), three are added (3 ms each). */
static void adding_up_is_paid_for(void **state)
{
    (void)state;
    struct card card = round_card(4, 4);
    card.copy_bandwidth = mlp_gradient_bytes(&run_published) / 1e-3;
    assert_case("small_accumulate", &card, 4 * (3.2 + 3.2) + 4 + 11 + 10);
    assert_case("small_sum_each", &card, 4 * (3.2 + 3.2) + 4 + 11 + 4 * 10);
    assert_case("small_ws4", &card, 7.2 + 3.2 + 10);
    assert_case("weak_ws1", &card, 20); /* one rank, nothing to accumulate */
    assert_case("strong_ws1", &card, 7.2 + 51.2);
}

/* Interpolate costs between one rank alone and all four at once: two ranks are a third of the way. Jitter costs waiting at
 * each all-reduce. */
static void ranks_at_once_disturb_each_other(void **state)
{
    (void)state;
    struct card card = round_card(4, 4);
    card.together.update += 3e-3;
    card.jitter = 1.5e-3;
    assert_case("weak_ws1", &card, 20);
    assert_case("weak_ws2", &card, 20 + 1 + 0.5 + 6);
    assert_case("weak_ws4", &card, 20 + 3 + 1.5 + 10);
    assert_case("small_accumulate", &card, 4 * (3.2 + 3.2) + 4 + 3 + 1.5 + 10);
    assert_case("small_sum_each", &card, 4 * (3.2 + 3.2) + 4 + 3 + 4 * (1.5 + 10));
}

/* Use two cores: four ranks take twice as long, two ranks or one have a core each. */
static void only_ranks_without_a_core_share_one(void **state)
{
    (void)state;
    struct card card = round_card(4, 2);
    assert_case("weak_ws4", &card, 2 * 20 + 10);
    assert_case("weak_ws2", &card, 20 + 6);
    assert_case("weak_ws1", &card, 20);
    assert_case("strong_ws1", &card, 7.2 + 51.2);
    assert_case("strong_ws2", &card, 7.2 + 25.6 + 6);
    assert_case("small_ws4", &card, 2 * (7.2 + 3.2) + 10);
    assert_case("small_accumulate", &card, 2 * (4 * (3.2 + 3.2) + 4) + 10);
    assert_case("small_sum_each", &card, 2 * (4 * (3.2 + 3.2) + 4) + 4 * 10);
    assert_case("larger_batch", &card, 2 * (7.2 + 51.2) + 10);
    card = round_card(4, 1);
    assert_case("weak_ws4", &card, 4 * 20 + 10);
    assert_case("weak_ws2", &card, 2 * 20 + 6);
    assert_case("weak_ws1", &card, 20);
}

static void half_of_few_ranks_is_one_or_two(void **state)
{
    (void)state;
    struct card one = round_card(1, 4), two = round_card(2, 4), three = round_card(3, 4);
    assert_case("weak_ws4", &one, 20);
    assert_case("weak_ws2", &one, 20);
    assert_case("strong_ws1", &one, 20);
    assert_case("strong_ws2", &one, 20);
    assert_case("small_ws4", &one, 7.2 + 3.2);
    assert_case("small_accumulate", &one, 4 * (3.2 + 3.2) + 4);
    assert_case("small_sum_each", &one, 4 * (3.2 + 3.2) + 4);
    assert_case("weak_ws4", &two, 20 + 10);
    assert_case("weak_ws2", &two, 20);
    assert_case("strong_ws1", &two, 7.2 + 25.6);
    assert_case("strong_ws2", &two, 7.2 + 25.6);
    assert_case("weak_ws2", &three, 20 + 6);
    assert_case("strong_ws1", &three, 7.2 + 38.4);
    assert_case("strong_ws2", &three, 7.2 + 19.2 + 6); /* 384 samples on two ranks */
    assert_case("strong_ws4", &three, 20 + 10);
}

static void assert_size(const char *name, int ranks, int batch, int global, const char *by)
{
    struct card card = round_card(4, 4);
    struct options o = settings_of(name, base_of(&card));
    assert_int_equal(o.run.ranks, ranks);
    assert_int_equal(o.run.batch_size, batch);
    assert_int_equal(run_global_batch(&o.run), global);
    assert_string_equal(per(&o), by);
}

/* Check sizes and the reference of each case: the single-rank case with the same batch per rank, or the same global batch. */
static void every_case_has_its_size(void **state)
{
    (void)state;
    assert_size("weak_ws4", 4, 128, 512, "weak_ws1");
    assert_size("weak_ws1", 1, 128, 128, "weak_ws1");
    assert_size("weak_ws2", 2, 128, 256, "weak_ws1");
    assert_size("strong_ws1", 1, 512, 512, "strong_ws1");
    assert_size("strong_ws2", 2, 256, 512, "strong_ws1");
    assert_size("strong_ws4", 4, 128, 512, "strong_ws1");
    assert_size("small_ws4", 4, 32, 128, "weak_ws1");
    assert_size("small_accumulate", 4, 32, 512, "strong_ws1");
    assert_size("small_sum_each", 4, 32, 512, "strong_ws1");
    assert_size("larger_batch", 4, 512, 2048, "strong_ws1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_follows_its_formula),
        cmocka_unit_test(the_cut_and_the_larger_batch_are_settings),
        cmocka_unit_test(adding_up_is_paid_for),
        cmocka_unit_test(ranks_at_once_disturb_each_other),
        cmocka_unit_test(only_ranks_without_a_core_share_one),
        cmocka_unit_test(half_of_few_ranks_is_one_or_two),
        cmocka_unit_test(every_case_has_its_size),
    };
    return cmocka_run_group_tests_name("small_work", tests, NULL, NULL);
}
