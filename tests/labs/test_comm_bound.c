/* test_comm_bound.c: test the formula of lab 03 where the machine of round numbers (tests/sim) does not reach: memory that costs time,
 * cores that carry the transfers, buckets that are hidden or queue, shared cores, one rank. */
#include "labs/03_comm_bound.h"

#include "support/formula.h"

static struct options kept(int comm_mb, int bucket_mb)
{
    struct options o = {
        .run = run_published, .model = published_mlp, .comm_mb = comm_mb, .bucket_mb = bucket_mb, .has_message = true
    };
    o.run.ranks = 4;
    return o;
}

static struct options in_buckets(int comm_mb, int bucket_mb)
{
    struct options o = kept(comm_mb, bucket_mb);
    o.overlaps = true;
    return o;
}

static struct options fresh(void)
{
    struct options o = kept(128, 25);
    o.is_fresh = true;
    return o;
}

static struct options ddp(void)
{
    struct options o = kept(128, 25);
    o.has_message = false;
    o.gradient_buckets = 2;
    return o;
}

/* Return a card with W = 20, T = 10 at any size, and 30 to fill 128 MiB of new memory (milliseconds). */
static struct card flat_card(int ranks, int cores)
{
    static const struct own_cost costs[] = { FRESH_COSTS, { 0 } };
    struct card card = round_card(ranks, cores);
    own_costs_make_room(&card.own, costs);
    card.own.at[0].value = 30e-3 / (128.0 * MIB);
    return card;
}

/* Return a card with T = alpha + 1 ms per MiB; conversion costs 1 ms per million floats. */
static struct card sloped_card(double alpha_ms)
{
    struct card card = flat_card(4, 4);
    card.copy_bandwidth = 12e9;
    struct alpha_beta *cost = &collective_costs_add(&card.collectives, ALL_REDUCE, first_ranks(4))->cost;
    for (int i = 0; i < cost->points; i++)
        cost->seconds[i] = 1e-3 * (alpha_ms + cost->bytes[i] / MIB);
    alpha_beta_fit(cost);
    return card;
}

/* Milliseconds from the end of layer 2 or 1 to the end of backward. Forward and backward take 15.8 ms. Matrix products are
 * 1024 x 1024 or 1024 x 1000 per sample: forward has one per layer, backward two, but one for the first layer. */
static const double a = 1024 * 1024, c = 1024 * 1000;
static double before_2(void)
{
    return 15.8 * (2 * a + a) / (3 * a + 2 * c + 2 * a + c);
}
static double before_1(void)
{
    return 15.8 * a / (3 * a + 2 * c + 2 * a + c);
}

/* A sum of new memory takes 8 ms more for 128 MiB. */
static struct card card_of_small_pages(void)
{
    static const struct own_cost costs[] = { FRESH_SUM_COSTS, { 0 } };
    struct card card = sloped_card(1);
    own_costs_make_room(&card.own, costs);
    card.own.at[1].value = 8e-3 / (128.0 * MIB);
    return card;
}

enum { OWN_BYTES = 12496800, LAST_LAYER_BYTES = 4100000 };
static const double own = (double)OWN_BYTES / MIB, last_layer = (double)LAST_LAYER_BYTES / MIB;

TEST(cores_that_carry_a_transfer_hide_nothing)
{
    struct card card = flat_card(4, 4);
    struct options six = in_buckets(128, 25), two = ddp();
    assert_predicted(&six, &card, 20 + 10 + 6 * 10);
    assert_predicted(&two, &card, 20 + 10 + 10);
    card.transfer_core = 0.5;
    assert_predicted(&six, &card, 20 + 10 + 6 * 10 - before_2() / 2);
}

TEST(rounding_and_new_memory_cost_time)
{
    struct card card = sloped_card(1);
    struct options o = fresh();
    assert_predicted(&o, &card, 20 + 1 + own + 129 + 30);
    o = kept(128, 25);
    o.wire = TYPE_BF16;
    assert_predicted(&o, &card, 20 + 1 + own / 2 + 1 + 64 + (OWN_BYTES / 4.0 + 32.0 * MIB) / 1e6);
}

/* Use buckets smaller than what each layer of backward can hide: all but the last are hidden. Larger buckets queue. */
TEST(the_last_bucket_always_shows)
{
    struct card card = sloped_card(0.5);
    card.transfer_core = 0;
    double base = 20 + 0.5 + own;
    struct options one = in_buckets(3, 1), three = in_buckets(3, 3), more = in_buckets(3, 99), four = in_buckets(12, 4);
    assert_true(before_1() > 1.5 && before_2() - before_1() > 1.5);
    assert_predicted(&one, &card, base + 1.5);
    assert_predicted(&three, &card, base + 3.5); /* one bucket starts after backward */
    assert_predicted(&more, &card, base + 3.5);  /* a larger bucket, too */
    /* Three buckets of 4 MiB: the first starts before_2 before the end of backward and takes 4.5. The second becomes ready
     * during that time, so all three queue behind each other. */
    assert_true(before_2() - before_1() < 4.5 && before_2() > 4.5);
    assert_predicted(&four, &card, base + 3 * 4.5 - before_2());
    struct options two = ddp(); /* DDP's first bucket is hidden, including its alpha */
    assert_true(0.5 + last_layer < before_2());
    assert_predicted(&two, &card, base - last_layer);
}

TEST(a_new_buffer_lengthens_its_sum)
{
    struct card card = card_of_small_pages();
    const struct options new = fresh(), old = kept(128, 25);
    assert_predicted(&new, &card, 20 + 1 + own + 129 + 30 + 8);
    assert_predicted(&old, &card, 20 + 1 + own + 129);
}

/* A message that fills the caches costs 2 ms of computing, half of one half of that; a modelled machine has no caches. */
TEST(a_message_leaves_colder_caches)
{
    static const struct own_cost costs[] = { { FLUSHED_COST, OWN_SECONDS, "", "ms", 1e3, 0, NULL, 0 }, { 0 } };
    struct card card = sloped_card(1);
    own_costs_make_room(&card.own, costs);
    *own_costs_row(&card.own, "own_" FLUSHED_COST) = 2e-3;
    struct options whole = kept(128, 25), half = kept(12, 25), seldom = kept(128, 25);
    const struct options none = ddp();
    seldom.run.cycle = 4;
    assert_predicted(&whole, &card, 20 + 1 + own + 129);
    card.reference.alone.passes = card.reference.together.passes = 1; /* measured */
    assert_predicted(&whole, &card, 20 + 1 + own + 129 + 2);
    assert_predicted(&half, &card, 20 + 1 + own + 13 + 1);
    assert_predicted(&seldom, &card, 20 + 1 + own + 129 / 4.0 + 0.5);
    assert_predicted(&none, &card, 20 + 2 + own);
}

TEST(one_rank_sends_nothing)
{
    struct card card = flat_card(1, 4);
    struct options o[] = { kept(128, 25), in_buckets(128, 25), ddp(), fresh() };
    for (int i = 0; i < 4; i++) {
        o[i].run.ranks = 1;
        assert_predicted(&o[i], &card, o[i].is_fresh ? 20 + 30 : 20);
    }
}

/* Run four ranks on two cores, 2 W for each. Filling memory takes twice as long, too, and so does the part of backward that
 * hides buckets. */
TEST(ranks_that_share_cores_fill_in_turns)
{
    struct card card = flat_card(4, 2);
    struct options one = kept(128, 25), new = fresh(), six = in_buckets(128, 25);
    assert_predicted(&one, &card, 40 + 10 + 10);
    assert_predicted(&new, &card, 2 * (20 + 30) + 10 + 10);
    card.transfer_core = 0;
    assert_predicted(&six, &card, 40 + 10 + 6 * 10 - 2 * before_2());
}
