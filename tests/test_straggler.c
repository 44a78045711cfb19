/* The formula of lab 01, every cell of pathology x fix, on a card made up of round numbers. */
#define main lab_main
#include "../labs/01_straggler.c"
#undef main

#include "formula.h"

static struct options base_of(int ranks)
{
    struct options o = { .run = run_published, .sleep_ms = 40, .slow_factor = 2, .every = 4, .passes = 1 };
    o.run.ranks = ranks;
    return o;
}

static void assert_among(const char *name, int ranks, int cores, double expected, double tolerance)
{
    struct card card = round_card(ranks, cores);
    assert_predicted(name, base_of(ranks), &card, expected, tolerance);
}

static void assert_case(const char *name, double expected, double tolerance)
{
    assert_among(name, 4, 4, expected, tolerance);
}

static void every_cell_follows_its_formula(void **state)
{
    (void)state;
    assert_case("baseline", 20 + 10, exact);
    assert_case("skew_ws4", 40 + 20 + 10, exact);
    assert_case("skew_prefetch", 40.2, exact); /* the stall and the fetch, longer than 30 */
    assert_case("skew_every_k", 40 + 20 + 10 / 4.0, exact);
    assert_case("busy", 40 + 20 + 10, exact);
    assert_case("busy_prefetch", 40 + 20 + 10, exact); /* the helper needs the same core */
    assert_case("busy_every_k", 40 + 20 + 10 / 4.0, exact);
    assert_case("roaming", 40 + 20 + 10, exact);
    assert_case("roaming_prefetch", 30 + 10.2 / (2 - 0.25), exact);
    assert_case("roaming_every_k", 20 + 40 * 2.125 / 4 + 10 / 4.0, exact);
    assert_case("slow_core", 0.2 + 2 * 15.8 + 4 + 10, exact);
    assert_case("slow_core_prefetch", 0.2 + 2 * 15.8 + 4 + 10, exact);
    assert_case("slow_core_every_k", 0.2 + 2 * 15.8 + 4 + 10 / 4.0, exact);
    /* 40 ms are 400 samples' worth: rank 0 keeps one. Its step is the stall and that sample. */
    assert_case("skew_share", 40 + 0.2 + 3 + 0.1 + 4 + 10, exact);
    assert_case("busy_share", 40 + 0.2 + 3 + 0.1 + 4 + 10, exact);
    /* 10.2 + 0.2 b = 7.2 + 0.1 c with b + 3 c = 512: b = 60.3, c = 150.6, all end at 22.26; dealt in fours, within 0.4. */
    assert_case("slow_core_share", 22.26 + 10, 0.4);
}

static void a_step_longer_than_the_stall_hides_it(void **state)
{
    (void)state;
    struct card card = round_card(4, 4);
    struct options o = base_of(4);
    o.sleep_ms = 25; /* below W + T = 30 */
    assert_predicted("skew_prefetch", o, &card, 30, exact);
    assert_predicted("roaming_prefetch", o, &card, 30, exact);
}

/* 40.2 of the helper, of which 15.8 were done beside the passes: the rest fills the transfer of 10. */
static void a_transfer_that_leaves_the_core_free_is_filled(void **state)
{
    (void)state;
    struct card card = round_card(4, 4);
    card.transfer_core = 0;
    struct options o = base_of(4);
    assert_predicted("busy_prefetch", o, &card, 40 + 20, exact);
    o.sleep_ms = 20; /* 20.2 - 15.8 = 4.4 are left for it */
    assert_predicted("busy_prefetch", o, &card, 20 + 20 + 10 - 4.4, exact);
    o.sleep_ms = 10; /* done before the passes are */
    assert_predicted("busy_prefetch", o, &card, 10 + 20 + 10, exact);
}

static void shares_cover_the_global_batch(void **state)
{
    (void)state;
    struct card card = round_card(4, 4);
    for (const struct variant *v = variants; v->name; v++) {
        struct options o = settings_of(v->name, base_of(4));
        int samples[RANKS_MOST] = { 0 };
        deal(&o, &card, samples);
        assert_int_equal(samples[0] + samples[1] + samples[2] + samples[3], 512);
        assert_int_equal(samples[0] == 128, !o.shares);
    }
}

static void one_rank_has_nobody_to_wait_for(void **state)
{
    (void)state;
    assert_among("baseline", 1, 4, 20, exact);
    assert_among("skew_ws4", 1, 4, 60, exact);
    assert_among("skew_share", 1, 4, 60, exact); /* nobody to give samples to */
    assert_among("roaming_every_k", 1, 4, 60, exact);
}

/* Four ranks on two cores: 2 W. The sleeper leaves its core to the others, who have done their W - 4 long before it wakes;
 * it does its own alone, and then all update at once, 4 at half speed. */
static void sharing_cores_hides_part_of_the_stall(void **state)
{
    (void)state;
    assert_among("baseline", 4, 2, 40 + 10, exact);
    assert_among("skew_ws4", 4, 2, 40 + 16 + 8 + 10, exact);
    assert_among("roaming", 4, 2, 40 + 16 + 8 + 10, exact);
    assert_among("busy", 4, 2, 80 + 10, exact); /* half speed to 32, then 40 alone, then 8 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cell_follows_its_formula),
        cmocka_unit_test(a_step_longer_than_the_stall_hides_it),
        cmocka_unit_test(a_transfer_that_leaves_the_core_free_is_filled),
        cmocka_unit_test(shares_cover_the_global_batch),
        cmocka_unit_test(one_rank_has_nobody_to_wait_for),
        cmocka_unit_test(sharing_cores_hides_part_of_the_stall),
    };
    return cmocka_run_group_tests_name("straggler", tests, NULL, NULL);
}
