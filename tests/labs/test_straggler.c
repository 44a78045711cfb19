/* test_straggler.c: test the formula of lab 01, every case of pathology x fix, with a machine card of round numbers. */
#define main lab_main
#include "../../labs/01_straggler.c"
#undef main

#include "support/formula.h"

static struct options base_of(int ranks)
{
    struct options o = {
        .run = run_published, .sleep_ms = 40, .slow_factor = 2, .every = 4, .chance = 0.05, .passes = 1
    };
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
    assert_case("skew_prefetch", 40.2, exact); /* stall and fetch take longer than the step of 30 */
    assert_case("skew_every_k", 40 + 20 + 10 / 4.0, exact);
    assert_case("busy", 40 + 20 + 10, exact);
    assert_case("busy_prefetch", 40 + 20 + 10, exact); /* the async helper needs the same core */
    assert_case("busy_every_k", 40 + 20 + 10 / 4.0, exact);
    assert_case("roaming", 40 + 20 + 10, exact);
    assert_case("roaming_prefetch", 30 + 10.2 / (2 - 0.25), exact);
    assert_case("roaming_every_k", 20 + 40 * 2.125 / 4 + 10 / 4.0, exact);
    assert_case("chance", 20 + 10 + 40 * (1 - 0.95 * 0.95 * 0.95 * 0.95), exact);
    assert_case("slow_core", 0.2 + 2 * 15.8 + 4 + 10, exact);
    assert_case("slow_core_prefetch", 0.2 + 2 * 15.8 + 4 + 10, exact);
    assert_case("slow_core_every_k", 0.2 + 2 * 15.8 + 4 + 10 / 4.0, exact);
    /* 40 ms are the time of 400 samples: rank 0 keeps one. Its step is the stall and this sample. */
    assert_case("skew_share", 40 + 0.2 + 3 + 0.1 + 4 + 10, exact);
    assert_case("busy_share", 40 + 0.2 + 3 + 0.1 + 4 + 10, exact);
    /* 10.2 + 0.2 b = 7.2 + 0.1 c with b + 3 c = 512: b = 60.3, c = 150.6, all finish at 22.26. Shares are multiples of 4,
     * so the tolerance is 0.4. */
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

/* Leave the core free during transfers. Of the async helper's 40.2, 15.8 overlap with forward and backward; the rest fills
 * the transfer of 10. */
static void a_transfer_that_leaves_the_core_free_is_filled(void **state)
{
    (void)state;
    struct card card = round_card(4, 4);
    card.transfer_core = 0;
    struct options o = base_of(4);
    assert_predicted("busy_prefetch", o, &card, 40 + 20, exact);
    o.sleep_ms = 20; /* 20.2 - 15.8 = 4.4 are left for the transfer */
    assert_predicted("busy_prefetch", o, &card, 20 + 20 + 10 - 4.4, exact);
    o.sleep_ms = 10; /* finished before forward and backward end */
    assert_predicted("busy_prefetch", o, &card, 10 + 20 + 10, exact);
}

static void a_chance_hits_more_steps_the_more_ranks_there_are(void **state)
{
    (void)state;
    assert_true(fabs(predict_any(0.25, 1) - 0.25) < 1e-15);
    assert_true(fabs(predict_any(0.25, 3) - 37.0 / 64) < 1e-15);
    assert_true(fabs(predict_any(1e-18, 1000) - 1e-15) < 1e-27); /* 1 - p is 1 in double precision */
    assert_true(predict_any(0, 1024) == 0 && predict_any(1, 1) == 1 && predict_any(1, 1024) == 1);
    assert_true(predict_any(0.01, 16384) == 1);

    const struct card card = round_card(4, 4), shared = round_card(4, 2);
    struct options o = settings_of("chance", base_of(4));
    struct prediction p = predict(&o, &card);
    assert_true(fabs(1e3 * p.data - (0.2 + 0.05 * 40)) < 1e-6); /* a rank's own stalls; the rest is waiting */
    assert_true(fabs(1e3 * p.wait - 40 * (predict_any(0.05, 4) - 0.05)) < 1e-6);
    o.chance = 0;
    assert_ms("chance", predict(&o, &card), 30, exact);
    o.chance = 1; /* all sleep at once: no rank waits */
    assert_ms("chance", predict(&o, &card), 70, exact);
    assert_true(fabs(1e3 * predict(&o, &card).data - 40.2) < 1e-6);
    o.chance = 0.05;
    o.run.ranks = 1;
    assert_ms("chance", predict(&o, &card), 20 + 0.05 * 40, exact);
    /* On shared cores a step with a stall takes 74 instead of 50, as with one straggler. */
    o = settings_of("chance", base_of(4));
    o.chance = 0.01;
    assert_ms("chance", predict(&o, &shared), 50 + (74 - 50) * predict_any(0.01, 4), exact);
}

/* Use twelve cores with a parallel capacity of 2.5 ranks: W takes 32. Busy host work leaves memory bandwidth to the others,
 * as a sleep does: 40, then 16 alone, then the update of all ranks, 4 x 1.6. The async helper has its own core; meanwhile
 * passes and update take 19.8 x 1.6. */
static void memory_is_shared_by_those_who_train(void **state)
{
    (void)state;
    struct card card = round_card(4, 12);
    for (int rank = 0; rank < 4; rank++)
        card.place[rank] = (struct card_place){ .cores = 12, .parallel_capacity = 2.5f };
    struct options o = base_of(4);
    assert_predicted("baseline", o, &card, 32 + 10, exact);
    assert_predicted("skew_ws4", o, &card, 40 + 16 + 6.4 + 10, exact);
    assert_predicted("busy", o, &card, 40 + 16 + 6.4 + 10, exact);
    assert_predicted("busy_prefetch", o, &card, 19.8 * 1.6 + 10, exact);
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
    assert_among("skew_share", 1, 4, 60, exact); /* no other rank can take samples */
    assert_among("roaming_every_k", 1, 4, 60, exact);
}

/* Run four ranks on two cores, 2 W for each. The sleeping rank leaves its core to the others, which finish their W - 4 long
 * before it wakes. It does its W - 4 alone; then all ranks update at once, 4 at half speed. */
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
        cmocka_unit_test(a_chance_hits_more_steps_the_more_ranks_there_are),
        cmocka_unit_test(memory_is_shared_by_those_who_train),
        cmocka_unit_test(shares_cover_the_global_batch),
        cmocka_unit_test(one_rank_has_nobody_to_wait_for),
        cmocka_unit_test(sharing_cores_hides_part_of_the_stall),
    };
    return cmocka_run_group_tests_name("straggler", tests, NULL, NULL);
}
