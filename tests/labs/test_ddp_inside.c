/* test_ddp_inside.c: test the formula of lab 09 where the machine of round numbers (tests/sim) does not reach: simulated ranks that were
 * measured, whose caches cool where sums start. */
#include "labs/09_ddp_inside.h"

#include "support/formula.h"
#include "support/near.h"

/* Return a card of simulated ranks that compute 3 ms longer in a step whose sums start after each layer, and 1 ms if after backward. */
static struct card card_of_turns(void)
{
    static const struct own_cost costs[] = { { STARTED_EARLY_COST, OWN_COLLECTIVE, "", "ms", 1e3, 0, NULL, 0 },
                                             { STARTED_LATE_COST, OWN_COLLECTIVE, "", "ms", 1e3, 0, NULL, 0 },
                                             { 0 } };
    struct card card = round_card(4, 4);
    card.transfer_core = 0;
    card.reference.alone.passes = card.reference.together.passes = 1; /* measured */
    own_costs_make_room(&card.own, costs);
    *own_costs_row(&card.own, "own_" STARTED_EARLY_COST) = 3e-3;
    *own_costs_row(&card.own, "own_" STARTED_LATE_COST) = 1e-3;
    return card;
}

static struct options in_buckets(double bytes)
{
    struct options o = {
        .run = run_published, .model = published_mlp, .has_reducer = true, .first = bytes, .most = bytes
    };
    o.run.ranks = 4;
    return o;
}

TEST(sums_that_start_early_cool_the_caches_for_longer)
{
    const struct card card = card_of_turns();
    struct card modelled = round_card(4, 4); /* without these costs */
    struct options whole = in_buckets(DDP_MOST), small = in_buckets(DDP_FIRST), wrong = small,
                   large = in_buckets(4 * DDP_FIRST), none = whole;
    wrong.in_model_order = true;
    none.has_reducer = false;
    assert_near(predict(&none, &card).local, 19.8e-3, 1e-12);
    assert_near(predict(&whole, &card).local, 20.8e-3, 1e-12);
    assert_near(predict(&wrong, &card).local, 20.8e-3, 1e-12); /* all wait for the first layer, which is last */
    assert_near(predict(&small, &card).local, 22.8e-3, 1e-12); /* as measured */
    struct schedule s, l;
    make_schedule(&s, &small, &card);
    make_schedule(&l, &large, &card);
    const double less = (l.backward - l.sum[0].ready) / (s.backward - s.sum[0].ready);
    assert_true(less > 0.3 && less < 0.9);
    assert_near(predict(&large, &card).local, 20.8e-3 + less * 2e-3, 1e-12); /* a later start */
    modelled.transfer_core = 0;
    assert_near(predict(&small, &modelled).local, 19.8e-3, 1e-12);
    small.run.ranks = 1;
    assert_near(predict(&small, &card).local, 19.8e-3, 1e-12); /* nothing starts */
}
