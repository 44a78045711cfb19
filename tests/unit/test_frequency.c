#include "card/frequency.h"

#include "card/card.h"
#include "support/near.h"
#include "support/unit.h"

#include <math.h>

static const struct own_cost list[] = { FREQUENCY_COSTS, { 0 } };

static struct card card_with(double ratio, double lost)
{
    struct card card = { 0 };
    own_costs_make_room(&card.own, list);
    card.own.at[FREQUENCY_RATIO].value = ratio;
    card.own.at[FREQUENCY_LOST].value = lost;
    return card;
}

TEST(brief_work_after_products_takes_longer_by_the_ratio)
{
    const struct card card = card_with(1.15, 0.9e-3);
    assert_near(frequency_lost(&card, 2e-3), 0.3e-3, 1e-12);
}

TEST(long_work_loses_what_there_is_to_lose)
{
    const struct card card = card_with(1.15, 0.9e-3);
    assert_near(frequency_lost(&card, 60e-3), 0.9e-3, 1e-12);
    assert_near(frequency_lost(&card, 6e-3), 0.9e-3, 1e-12);
}

TEST(a_card_without_the_rows_changes_nothing)
{
    const struct card none = { 0 }, unmeasured = card_with((double)NAN, (double)NAN);
    assert_true(frequency_lost(&none, 2e-3) == 0);
    assert_true(frequency_lost(&unmeasured, 2e-3) == 0);
}

TEST(a_core_never_runs_faster_after_products)
{
    const struct own_where nowhere = { 0 };
    assert_true(frequency_measure(&nowhere, FREQUENCY_RATIO) >= 1);
    assert_true(frequency_measure(&nowhere, FREQUENCY_LOST) >= 0);
}
