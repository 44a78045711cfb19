/* test_rank0_host.c: test the formula of lab 02, every case of pathology x fix, with a machine card of round numbers. */
#define main lab_main
#include "../../labs/02_rank0_host.c"
#undef main

#include "support/formula.h"

static void assert_case_of(const char *name, double host_ms, int every, const struct card *card, double expected)
{
    struct options o = { .run = run_published, .host_ms = host_ms, .every = every, .seldom = 4, .period = 1 };
    o.run.ranks = card->ranks;
    assert_predicted(name, o, card, expected, exact);
}

static void assert_case(const char *name, const struct card *card, double expected)
{
    assert_case_of(name, 20, 1, card, expected);
}

static void every_cell_follows_its_formula(void **state)
{
    (void)state;
    struct card card = round_card(4, 4);
    assert_case("baseline", &card, 20 + 10);
    assert_case("barrier_ws4", &card, 20 + 10 + 20 + 0.5);
    assert_case("sleep_no_barrier", &card, 20 + 10 + 20);
    assert_case("sleep_every_n", &card, 20 + 10 + 20.5 / 4);
    assert_case("sleep_helper", &card, 20 + 10 + 0.5);
    assert_case("sleep_spread", &card, 20 + 10 + 20 / 4.0 + 0.5);
    assert_case("barrier_busy", &card, 20 + 10 + 20 + 0.5);
    assert_case("busy_no_barrier", &card, 20 + 10 + 20);
    assert_case("busy_every_n", &card, 20 + 10 + 20.5 / 4);
    assert_case("busy_helper", &card, 20 + 10 + 20 + 0.5);
    assert_case("busy_spread", &card, 20 + 10 + 20 / 4.0 + 0.5);
}

/* Check long sleeps of the async helper: a sleep is hidden until the next one is due, barrier included. */
static void a_long_sleep_shows_beyond_the_steps_beside_it(void **state)
{
    (void)state;
    struct card card = round_card(4, 4);
    assert_case_of("sleep_helper", 60, 1, &card, 60);
    assert_case_of("sleep_helper", 60, 4, &card, 20 + 10 + 0.5 / 4);
    assert_case_of("sleep_helper", 160, 4, &card, 160 / 4.0);
    card = round_card(4, 2); /* steps of 50.5 hide the sleep */
    assert_case_of("sleep_helper", 45, 1, &card, 40 + 10 + 0.5);
    assert_case_of("sleep_helper", 60, 1, &card, 60);
}

/* Leave the core free during transfers. Then the async helper also works during the barrier, and would during the
 * all-reduce if any work were left. */
static void a_transfer_that_leaves_the_core_free_is_filled(void **state)
{
    (void)state;
    struct card card = round_card(4, 4);
    card.transfer_core = 0;
    assert_case("busy_helper", &card, 20 + 10 + 20);
    assert_case("sleep_helper", &card, 20 + 10 + 0.5);
}

/* Run four ranks on two cores, 2 W for each. At a barrier no rank can use the core of the sleeping rank 0, so its sleep is
 * fully exposed. Without a barrier three ranks share two cores until 20, then four: three finish at 33.3, rank 0 at 46.7. */
static void sharing_cores_hides_a_sleep_only_without_the_barrier(void **state)
{
    (void)state;
    struct card card = round_card(4, 2);
    assert_case("baseline", &card, 40 + 10);
    assert_case("barrier_ws4", &card, 40 + 10 + 20 + 0.5);
    assert_case("sleep_no_barrier", &card, 20 + 2 / 3.0 * 20 + 40 / 3.0 + 10);
    assert_case("busy_no_barrier", &card, 40 + 20 + 10);
}

static void one_rank_waits_for_nobody(void **state)
{
    (void)state;
    struct card card = round_card(1, 4);
    assert_case("baseline", &card, 20);
    assert_case("barrier_ws4", &card, 40);
    assert_case("sleep_spread", &card, 40);
    assert_case("sleep_helper", &card, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cell_follows_its_formula),
        cmocka_unit_test(a_long_sleep_shows_beyond_the_steps_beside_it),
        cmocka_unit_test(a_transfer_that_leaves_the_core_free_is_filled),
        cmocka_unit_test(sharing_cores_hides_a_sleep_only_without_the_barrier),
        cmocka_unit_test(one_rank_waits_for_nobody),
    };
    return cmocka_run_group_tests_name("rank0_host", tests, NULL, NULL);
}
