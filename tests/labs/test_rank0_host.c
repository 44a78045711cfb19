/* test_rank0_host.c: test the formula of lab 02 where the machine of round numbers (tests/sim) does not reach: sleeps longer than the
 * steps beside them, cores that carry the transfers, shared cores, one rank. */
#include "labs/02_rank0_host.h"

#include "support/formula.h"

static struct options host(enum stall_kind work, double ms)
{
    struct options o = {
        .run = run_published, .model = published_mlp, .work = work, .host_ms = ms, .period = 1, .has_barrier = true
    };
    o.run.ranks = 4;
    return o;
}

/* Check long sleeps of the async helper: a sleep is hidden until the next one is due, barrier included. */
TEST(a_long_sleep_shows_beyond_the_steps_beside_it)
{
    struct card card = round_card(4, 4), shared = round_card(4, 2);
    struct options o = host(STALL_SLEEP, 60);
    o.in_helper = true;
    assert_predicted(&o, &card, 60);
    assert_predicted(&o, &shared, 60);
    o.host_ms = 45;
    assert_predicted(&o, &shared, 40 + 10 + 0.5); /* steps of 50.5 hide the sleep */
    o.period = 4;
    o.host_ms = 60;
    assert_predicted(&o, &card, 20 + 10 + 0.5 / 4);
    o.host_ms = 160;
    assert_predicted(&o, &card, 160 / 4.0);
}

/* A transfer that needs the core hides nothing. Otherwise the async helper works during the barrier and the all-reduce, too: the
 * core does W + H without a gap. */
TEST(a_transfer_that_leaves_the_core_free_is_filled)
{
    struct card card = round_card(4, 4);
    struct options o = host(STALL_BUSY, 60);
    o.in_helper = true;
    assert_predicted(&o, &card, 20 + 60 + 10 + 0.5);
    card.transfer_core = 0;
    assert_predicted(&o, &card, 20 + 60);
}

/* Run four ranks on two cores, 2 W for each. At a barrier no rank can use the core of the sleeping rank 0, so its sleep is
 * fully exposed. Without a barrier three ranks share two cores until 20, then four: three finish at 33.3, rank 0 at 46.7. */
TEST(sharing_cores_hides_a_sleep_only_without_the_barrier)
{
    struct card card = round_card(4, 2);
    struct options o = host(STALL_SLEEP, 20);
    assert_predicted(&o, &card, 40 + 10 + 20 + 0.5);
    o.has_barrier = false;
    assert_predicted(&o, &card, 20 + 2 / 3.0 * 20 + 40 / 3.0 + 10);
    o.work = STALL_BUSY;
    assert_predicted(&o, &card, 40 + 20 + 10);
    o.work = STALL_NONE;
    assert_predicted(&o, &card, 40 + 10);
}

/* Rank 0 is late on the host, rank 1 in its fetch, both by 20. A barrier makes all ranks wait for one after the other. Without it
 * rank 1 sleeps while rank 0 does. */
TEST(two_late_ranks_cost_twice_only_with_the_barrier)
{
    struct card card = round_card(4, 4);
    struct options o = host(STALL_SLEEP, 20);
    o.has_straggler = true;
    assert_predicted(&o, &card, 20 + 20 + 10 + 20 + 0.5);
    o.period = 4; /* the straggler sleeps in each step, rank 0 in every fourth */
    assert_predicted(&o, &card, 20 + 20 + 10 + 20.5 / 4);
    o.has_barrier = false;
    assert_predicted(&o, &card, 20 + 20 + 10);
    o.period = 1;
    assert_predicted(&o, &card, 20 + 20 + 10);
    o.host_ms = 0;
    assert_predicted(&o, &card, 20 + 10);
}

/* Run four ranks on two cores. Without a barrier ranks 2 and 3 have them first, for 16, then ranks 0 and 1, from 20 to 36; the update
 * of all takes 8. With it ranks 0, 2 and 3 share them while rank 1 sleeps; it needs one until 38.7. */
TEST(two_late_ranks_share_cores_with_the_others)
{
    struct card card = round_card(4, 2);
    struct options o = host(STALL_SLEEP, 20);
    o.has_straggler = true;
    assert_predicted(&o, &card, 20 + 2 / 3.0 * 20 + 40 / 3.0 + 10 + 20 + 0.5);
    o.has_barrier = false;
    assert_predicted(&o, &card, 36 + 8 + 10);
}

/* Two ranks that update at once take 6 ms each, because they share the memory; apart, 4 ms. */
TEST(without_a_barrier_updates_do_not_share_the_memory)
{
    struct card card = round_card(2, 2);
    card.together.update = 6e-3;
    struct options o = host(STALL_SLEEP, 20);
    o.run.ranks = 2;
    assert_predicted(&o, &card, 16 + 6 + 10 + 20 + 0.5);
    o.has_barrier = false;
    assert_predicted(&o, &card, 16 + 4 + 10 + 20);
    o.period = 2; /* in every second step both update at once */
    assert_predicted(&o, &card, 16 + 5 + 10 + 10);
    o.period = 1;
    o.host_ms = 3; /* half as long as an update */
    assert_predicted(&o, &card, 16 + 5 + 10 + 3);
    o.is_spread = true; /* over both ranks, which stay side by side */
    assert_predicted(&o, &card, 16 + 6 + 10 + 1.5);
}

TEST(one_rank_does_not_wait)
{
    struct card card = round_card(1, 4);
    struct options o = host(STALL_SLEEP, 20);
    o.run.ranks = 1;
    assert_predicted(&o, &card, 40);
    o.is_spread = true;
    assert_predicted(&o, &card, 40);
    o.is_spread = false;
    o.in_helper = true;
    assert_predicted(&o, &card, 20);
    o.in_helper = false;
    o.has_straggler = true; /* both are the same rank's */
    assert_predicted(&o, &card, 60);
    o.has_barrier = false;
    assert_predicted(&o, &card, 60);
}
