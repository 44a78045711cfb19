/* test_straggler.c: test the formula of lab 01 where the machine of round numbers (tests/sim) does not reach: shared cores and memory,
 * cores that carry the transfers, short stalls, extreme probabilities, one rank. */
#include "labs/01_straggler.h"

#include "card/drift.h"
#include "support/formula.h"

static struct options late(enum stall_kind stall, double ms)
{
    struct options o = { .run = run_published, .model = published_mlp, .stall = stall, .sleep_ms = ms, .passes = 1 };
    o.run.ranks = 4;
    return o;
}

TEST(a_step_longer_than_the_stall_hides_it)
{
    struct card card = round_card(4, 4);
    struct options o = late(STALL_SLEEP, 25); /* below W + T = 30 */
    o.run.ahead = 1;
    assert_predicted(&o, &card, 30);
    o.roams = true;
    assert_predicted(&o, &card, 30);
}

/* A transfer that needs the core hides nothing. Otherwise the async helper's work fills the transfer of 10, except the part that
 * overlaps with the 15.8 of forward and backward. */
TEST(a_transfer_that_leaves_the_core_free_is_filled)
{
    struct card card = round_card(4, 4);
    struct options o = late(STALL_BUSY, 40);
    o.run.ahead = 1;
    assert_predicted(&o, &card, 40 + 20 + 10);
    card.transfer_core = 0;
    o.sleep_ms = 20; /* 20.2 - 15.8 = 4.4 are left for the transfer */
    assert_predicted(&o, &card, 20 + 20 + 10 - 4.4);
    o.sleep_ms = 10; /* finished before forward and backward end */
    assert_predicted(&o, &card, 10 + 20 + 10);
}

TEST(a_chance_hits_more_steps_the_more_ranks_there_are)
{
    assert_true(fabs(predict_any(0.25, 1) - 0.25) < 1e-15);
    assert_true(fabs(predict_any(0.25, 3) - 37.0 / 64) < 1e-15);
    assert_true(fabs(predict_any(1e-18, 1000) - 1e-15) < 1e-27); /* 1 - p is 1 in double precision */
    assert_true(predict_any(0, 1024) == 0 && predict_any(1, 1) == 1 && predict_any(1, 1024) == 1);
    assert_true(predict_any(0.01, 16384) == 1);

    const struct card card = round_card(4, 4), shared = round_card(4, 2);
    struct options o = late(STALL_SLEEP, 40);
    o.roams = o.chances = true;
    o.chance = 0.05;
    struct prediction p = predict(&o, &card);
    assert_true(fabs(1e3 * p.data - (0.2 + 0.05 * 40)) < 1e-6); /* a rank's own stalls; the rest is waiting */
    assert_true(fabs(1e3 * p.wait - 40 * (predict_any(0.05, 4) - 0.05)) < 1e-6);
    o.chance = 0;
    assert_predicted(&o, &card, 30);
    o.chance = 1; /* all sleep at once: no rank waits */
    assert_predicted(&o, &card, 70);
    assert_true(fabs(1e3 * predict(&o, &card).data - 40.2) < 1e-6);
    /* On shared cores a step with a stall takes 74 instead of 50, as with one straggler. */
    o.chance = 0.01;
    assert_predicted(&o, &shared, 50 + (74 - 50) * predict_any(0.01, 4));
    o.chance = 0.05;
    o.run.ranks = 1;
    assert_predicted(&o, &card, 20 + 0.05 * 40);
}

/* Use twelve cores with a parallel capacity of 2.5 ranks: W takes 32. Busy host work leaves memory bandwidth to the others,
 * as a sleep does: 40, then 16 alone, then the update of all ranks, 4 x 1.6. The async helper has its own core; meanwhile
 * passes and update take 19.8 x 1.6. */
TEST(memory_is_shared_by_those_who_train)
{
    struct card card = round_card(4, 12);
    for (int rank = 0; rank < 4; rank++)
        card.place[rank] = (struct card_place){ .cores = 12, .parallel_capacity = 2.5f };
    struct options none = late(STALL_NONE, 40), sleeps = late(STALL_SLEEP, 40), busy = late(STALL_BUSY, 40);
    assert_predicted(&none, &card, 32 + 10);
    assert_predicted(&sleeps, &card, 40 + 16 + 6.4 + 10);
    assert_predicted(&busy, &card, 40 + 16 + 6.4 + 10);
    busy.run.ahead = 1;
    assert_predicted(&busy, &card, 19.8 * 1.6 + 10);
}

/* The samples were dealt by the card as it was measured: 20 of W at half the speed takes 40, and the late rank's share does not shrink
 * again, so that ranks which were to end together do not. */
TEST(shares_stay_when_the_machine_slows_down)
{
    const struct card card = round_card(4, 4),
                      slow = card_drifted(&card, (struct card_drift){ .local = 2, .transfer = 1 });
    struct options o = late(STALL_SLEEP, 10);
    o.shares = true;
    int samples[4], again[4];
    deal(&o, &card, samples);
    deal(&o, &slow, again);
    assert_true(again[0] > samples[0]); /* a plan for the slow machine would give the late rank more */
    double last = 0;
    for (int rank = 0; rank < 4; rank++) {
        struct work work = workload_work(&o.model, samples[rank]);
        const double own = 1e3 * (cost_at(&slow.together.fetch, workload_usual(&o.model, &o.run)) +
                                  cost_at(&slow.together.passes, work) + slow.together.update);
        last = fmax(last, own + (rank == 0 ? 10 : 0));
    }
    assert_predicted(&o, &slow, last + 10);
}

TEST(one_rank_does_not_wait)
{
    struct card card = round_card(1, 4);
    struct options o = late(STALL_SLEEP, 40);
    o.run.ranks = 1;
    assert_predicted(&o, &card, 60);
    o.shares = true; /* no other rank can take samples */
    assert_predicted(&o, &card, 60);
    o.shares = false;
    o.roams = true;
    o.run.cycle = 4;
    assert_predicted(&o, &card, 60);
}

/* Run four ranks on two cores, 2 W for each. The sleeping rank leaves its core to the others, which finish their W - 4 long
 * before it wakes. It does its W - 4 alone; then all ranks update at once, 4 at half speed. */
TEST(sharing_cores_hides_part_of_the_stall)
{
    struct card card = round_card(4, 2);
    struct options none = late(STALL_NONE, 40), sleeps = late(STALL_SLEEP, 40), busy = late(STALL_BUSY, 40);
    assert_predicted(&none, &card, 40 + 10);
    assert_predicted(&sleeps, &card, 40 + 16 + 8 + 10);
    sleeps.roams = true;
    assert_predicted(&sleeps, &card, 40 + 16 + 8 + 10);
    assert_predicted(&busy, &card, 80 + 10); /* half speed to 32, then 40 alone, then 8 */
}
