#include "card/gradient_costs.h"

#include "card/card.h"
#include "card/collective_cost.h"
#include "support/near.h"
#include "support/unit.h"

#include <string.h>

static const struct own_cost list[] = { STARTED_SMALL_COSTS, STARTED_MIDDLE_COSTS, STARTED_LARGE_COSTS,
                                        ADDING_COSTS,        ROUNDING_COSTS,       ROUNDING_LARGE_COSTS,
                                        BF16_SUM_COSTS,      FRESH_SUM_COSTS,      { 0 } };

/* A card of two ranks on two cores, whose blocking all-reduces take 1 ms. Rows of own costs have no value yet. */
static struct card card_here(void)
{
    struct card card = { .ranks = 2,
                         .cores = 2,
                         .reference.alone.passes = 1e-3,
                         .reference.together.passes = 1e-3,
                         .copy_bandwidth = 10e9 };
    struct alpha_beta *cost = &collective_costs_add(&card.collectives, ALL_REDUCE, first_ranks(2))->cost;
    alpha_beta_add(cost, 4, 1e-3);
    alpha_beta_add(cost, 1e9, 1e-3);
    alpha_beta_fit(cost);
    own_costs_make_room(&card.own, list);
    return card;
}

static void set(struct card *card, const char *name, double value)
{
    const int place = own_costs_place(&card->own, name);
    assert_true(place >= 0);
    card->own.at[place].value = value;
}

TEST(the_first_gradients_are_copied_and_the_others_added)
{
    struct card card = card_here();
    set(&card, "copy_byte_s", 2.5e-10);
    set(&card, "add_byte_s", 3e-10);
    assert_true(adding_seconds(&card, 1e6, 1) <= 0);
    assert_relatively_near(adding_seconds(&card, 1e6, 2), 5.5e-4, 1e-9);
    assert_relatively_near(adding_seconds(&card, 1e6, 4), 11.5e-4, 1e-9);
}

TEST(rounding_beyond_the_caches_is_another_cost)
{
    struct card card = card_here();
    set(&card, "round_byte_s", 1e-10);
    set(&card, "round_large_byte_s", 5e-10);
    assert_relatively_near(rounding_seconds(&card, 1e6), 1e-4, 1e-9);
    assert_relatively_near(rounding_large_seconds(&card, 1e6), 5e-4, 1e-9);
}

/* Sums of floats take 1 ms at any size. */
TEST(adding_bf16_takes_longer_by_the_byte)
{
    struct card card = card_here();
    assert_relatively_near(bf16_sum_seconds(&card, 2, 1e6), 1e-3, 1e-9); /* not measured */
    set(&card, "bf16_sum_byte_s", 4e-10);
    assert_relatively_near(bf16_sum_seconds(&card, 2, 1e6), 1.4e-3, 1e-9);
    assert_true(bf16_sum_seconds(&card, 1, 1e6) <= 0);
}

TEST(a_new_buffer_takes_longer_by_the_byte)
{
    struct card card = card_here();
    assert_true(fresh_sum_seconds(&card, 2, 1e6) <= 0); /* not measured */
    set(&card, "fresh_sum_byte_s", 1e-10);
    assert_relatively_near(fresh_sum_seconds(&card, 2, 1e6), 1e-4, 1e-9);
    assert_true(fresh_sum_seconds(&card, 1, 1e6) <= 0); /* one rank sums nothing */
}

TEST(what_is_not_measured_is_copied)
{
    const struct card card = card_here();
    assert_relatively_near(adding_seconds(&card, 1e6, 4), 11e6 / 10e9, 1e-9);
    assert_relatively_near(rounding_seconds(&card, 1e6), 3e6 / 10e9, 1e-9);
}

TEST(a_started_sum_lies_between_those_measured)
{
    struct card card = card_here();
    for (int i = 0; list[i].measure == started_measure; i++)
        set(&card, list[i].name, 1e-3 * (i + 2));
    assert_relatively_near(started_seconds(&card, 2, 4 << 10), 2e-3, 1e-9);
    assert_relatively_near(started_seconds(&card, 2, 50 << 10), 2.5e-3, 1e-9);
    assert_relatively_near(started_seconds(&card, 2, 3 << 20), 5e-3, 1e-9);
    assert_relatively_near(started_seconds(&card, 2, 4.5 * (1 << 20)), 5.5e-3, 1e-9);
    assert_relatively_near(started_seconds(&card, 2, 20 << 20), 7.5e-3, 1e-9);
    assert_relatively_near(started_seconds(&card, 2, 40 << 20), 10e-3, 1e-9); /* along the last line */
    assert_relatively_near(started_seconds(&card, 1, 3 << 20), 0, 1e-9);      /* one rank sends nothing */
}

/* A lab with large messages only does not measure small ones. */
TEST(a_few_sizes_suffice)
{
    struct card card = card_here();
    set(&card, "started_3m_s", 3e-3);
    assert_relatively_near(started_seconds(&card, 2, 3 << 20), 1e-3, 1e-9); /* one size is no line */
    set(&card, "started_6m_s", 5e-3);
    assert_relatively_near(started_seconds(&card, 2, 4.5 * (1 << 20)), 4e-3, 1e-9);
    assert_relatively_near(started_seconds(&card, 2, 12 << 20), 9e-3, 1e-9);
    assert_relatively_near(started_seconds(&card, 2, 1.5 * (1 << 20)), 2e-3, 1e-9);
    assert_true(started_seconds(&card, 2, 4) >= 0);
}

/* One rank alone measures nothing, as simulated ranks do, and a lab without the rows has no values. */
TEST(a_started_sum_without_a_measurement_is_a_blocking_one)
{
    struct card card = card_here();
    assert_relatively_near(started_seconds(&card, 2, 3 << 20), 1e-3, 1e-9);
    for (int i = 0; list[i].measure == started_measure; i++)
        set(&card, list[i].name, 0);
    assert_relatively_near(started_seconds(&card, 2, 3 << 20), 1e-3, 1e-9);
}
