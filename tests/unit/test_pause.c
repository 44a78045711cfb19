#include "card/pause.h"

#include "card/predict.h"
#include "support/near.h"
#include "support/unit.h"

enum { RANKS = 2 };
static const double STEP = 20e-3, TRANSFER = 2e-3;

/* A card on which a step loses 1 ms after 5 ms, 3 ms after 30 ms, and its all-reduce 0.5 ms. */
static struct card card_of(double few)
{
    struct card card = { .ranks = RANKS, .cores = RANKS };
    own_costs_make_room(&card.own, pause_costs);
    card.own.at[PAUSE_SHORT].value = few;
    card.own.at[PAUSE_LONG].value = 3e-3;
    card.own.at[PAUSE_SUM].value = 0.5e-3;
    return card;
}

static struct load rank_asleep(double seconds)
{
    return (struct load){ .data = seconds, .local = STEP, .cpu = STEP };
}

TEST(what_is_lost_grows_with_the_pause_up_to_the_longest_measured)
{
    const struct card card = card_of(1e-3);
    assert_true(pause_lost(&card, 0) == 0);
    assert_near(pause_lost(&card, 2.5e-3), 0.5e-3, 1e-12);
    assert_near(pause_lost(&card, 5e-3), 1e-3, 1e-12);
    assert_near(pause_lost(&card, 17.5e-3), 2e-3, 1e-12);
    assert_near(pause_lost(&card, 30e-3), 3e-3, 1e-12);
    assert_near(pause_lost(&card, 1), 3e-3, 1e-12);
    assert_near(pause_lost_sum(&card, 1), 0.5e-3, 1e-12);
    assert_near(pause_lost_sum(&card, 5e-3), 0.5e-3 / 3, 1e-12);
}

TEST(noise_below_zero_is_no_gain)
{
    const struct card card = card_of(-0.2e-3);
    assert_true(pause_lost(&card, 5e-3) == 0 && pause_lost(&card, 30e-3) > 0);
}

TEST(a_card_without_the_rows_loses_nothing)
{
    const struct card none = { 0 };
    assert_true(pause_lost(&none, 1) == 0 && pause_lost_sum(&none, 1) == 0);
}

TEST(a_rank_that_sleeps_and_one_that_waits_both_lose)
{
    const struct card card = card_of(1e-3);
    const struct load loads[RANKS] = { rank_asleep(40e-3), rank_asleep(0) };
    const struct prediction p = predict_step(&card, loads, RANKS, 0, TRANSFER);
    assert_near(p.local, STEP + 3e-3, 1e-12);
    assert_near(p.data, 20e-3, 1e-12);
    assert_near(p.wait, 20e-3, 1e-12);
    assert_near(p.transfer, TRANSFER + 0.5e-3, 1e-12);
}

TEST(without_pauses_nothing_is_lost)
{
    const struct card card = card_of(1e-3);
    const struct load loads[RANKS] = { rank_asleep(0), rank_asleep(0) };
    const struct prediction p = predict_step(&card, loads, RANKS, 0, TRANSFER);
    assert_near(prediction_step(&p), STEP + TRANSFER, 1e-12);
}

TEST(a_pause_that_the_lab_adds_itself_counts)
{
    const struct card card = card_of(1e-3);
    struct load load = rank_asleep(0);
    load.pause = 5e-3;
    const struct prediction p = predict_alike(&card, load, RANKS, 0, TRANSFER);
    assert_near(p.local, STEP + 1e-3, 1e-12);
    assert_near(p.data, 0, 1e-12);
}

TEST(a_fetch_beside_the_step_ends_when_it_would_anyway)
{
    const struct card card = card_of(1e-3);
    struct load load = rank_asleep(5e-3);
    load.data_is_rest = true;
    const struct prediction p = predict_alike(&card, load, RANKS, 0, 0);
    assert_near(p.local, STEP + 1e-3, 1e-12);
    assert_near(p.data, 4e-3, 1e-12);
}

TEST(ranks_that_share_cores_never_pause)
{
    struct card card = card_of(1e-3);
    card.cores = 1;
    const struct load loads[RANKS] = { rank_asleep(40e-3), rank_asleep(0) };
    const struct card none = { .ranks = RANKS, .cores = 1 };
    const struct prediction p = predict_step(&card, loads, RANKS, 0, TRANSFER),
                            without = predict_step(&none, loads, RANKS, 0, TRANSFER);
    assert_near(prediction_step(&p), prediction_step(&without), 1e-12);
}
