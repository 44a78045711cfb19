/* test_comm_bound.c: test the formula of lab 03, every case by hand, with a machine card of round numbers. Also tests how
 * messages are split into buckets. */
#define main lab_main
#include "../../labs/03_comm_bound.c"
#undef main

#include "support/ending.h"
#include "support/formula.h"

static struct options options_of(int ranks, int comm_mb, int bucket_mb)
{
    struct options o = { .run = run_published, .comm_mb = comm_mb, .bucket_mb = bucket_mb, .every = 4 };
    o.run.ranks = ranks;
    return o;
}

static void assert_case_of(const char *name, struct options o, const struct card *card, double expected)
{
    assert_predicted(name, o, card, expected, exact);
}

static void assert_case(const char *name, const struct card *card, double expected)
{
    assert_case_of(name, options_of(card->ranks, 128, 25), card, expected);
}

/* Return a card with W = 20, T = 10 at any size, and 30 to fill 128 MiB of new memory (milliseconds). */
static struct card flat_card(int ranks, int cores)
{
    struct card card = round_card(ranks, cores);
    card.fresh_bandwidth = 128.0 * MIB / 30e-3;
    return card;
}

/* Return a card with T = alpha + 1 ms per MiB; conversion costs 1 ms per million floats. */
static struct card sloped_card(double alpha_ms)
{
    struct card card = flat_card(4, 4);
    card.copy_bandwidth = 12e9;
    for (int i = 0; i < card.link[0].points; i++)
        card.link[0].seconds[i] = 1e-3 * (alpha_ms + card.link[0].bytes[i] / MIB);
    alpha_beta_fit(&card.link[0]);
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

enum { OWN_BYTES = 12496800, LAST_LAYER_BYTES = 4100000 };
static const double own = (double)OWN_BYTES / MIB, last_layer = (double)LAST_LAYER_BYTES / MIB;

static void every_message_costs_the_same(void **state)
{
    (void)state;
    struct card card = flat_card(4, 4);
    assert_case("baseline", &card, 20 + 10);
    assert_case("comm_ws4", &card, 20 + 10 + 10 + 30);
    assert_case("comm_kept_ws4", &card, 20 + 10 + 10);
    assert_case("comm_buckets", &card, 20 + 10 + 6 * 10);
    assert_case("comm_no_progress", &card, 20 + 10 + 6 * 10);
    assert_case("comm_bf16", &card, 20 + 10 + 10);
    assert_case("comm_every_k", &card, 20 + 10 + 10 / 4.0);
    assert_case("one_bucket", &card, 20 + 10);
    assert_case("ddp_buckets", &card, 20 + 10 + 10);
}

static void a_network_of_its_own_begins_during_backward(void **state)
{
    (void)state;
    struct card card = flat_card(4, 4);
    card.transfer_core = 0;
    assert_case("comm_ws4", &card, 20 + 10 + 10 + 30);
    assert_case("comm_kept_ws4", &card, 20 + 10 + 10);
    assert_case("comm_buckets", &card, 20 + 10 + 6 * 10 - before_2());
    assert_case("comm_no_progress", &card, 20 + 10 + 6 * 10 - before_2());
    assert_case("one_bucket", &card, 20 + 10);
    assert_case("ddp_buckets", &card, 20 + 10 + 10 - before_2());
    card.transfer_core = 0.5;
    assert_case("comm_buckets", &card, 20 + 10 + 6 * 10 - before_2() / 2);
}

static void every_byte_costs(void **state)
{
    (void)state;
    struct card card = sloped_card(1);
    assert_case("baseline", &card, 20 + 1 + own);
    assert_case("comm_ws4", &card, 20 + 1 + own + 129 + 30);
    assert_case("comm_kept_ws4", &card, 20 + 1 + own + 129);
    assert_case("comm_buckets", &card, 20 + 1 + own + 128 + 6 * 1); /* one alpha per bucket, nothing hidden */
    assert_case("comm_bf16", &card, 20 + 1 + own / 2 + 1 + 64 + (OWN_BYTES / 4.0 + 32.0 * MIB) / 1e6);
    assert_case("comm_every_k", &card, 20 + 1 + own + 129 / 4.0);
    assert_case("one_bucket", &card, 20 + 1 + own);
    assert_case("ddp_buckets", &card, 20 + 2 + own);
    card.transfer_core = 0;
    assert_case("comm_buckets", &card, 20 + 1 + own + 128 + 6 * 1 - before_2());
    assert_true(1 + last_layer < before_2()); /* DDP's first bucket is hidden, including its alpha */
    assert_case("ddp_buckets", &card, 20 + 1 + own - last_layer);
}

/* Use buckets smaller than what each layer of backward can hide: all but the last are hidden. Larger buckets queue. */
static void the_last_bucket_always_shows(void **state)
{
    (void)state;
    struct card card = sloped_card(0.5);
    card.transfer_core = 0;
    double base = 20 + 0.5 + own;
    assert_true(before_1() > 1.5 && before_2() - before_1() > 1.5);
    assert_case_of("comm_buckets", options_of(4, 3, 1), &card, base + 1.5);
    assert_case_of("comm_buckets", options_of(4, 3, 3), &card, base + 3.5);  /* one bucket starts after backward */
    assert_case_of("comm_buckets", options_of(4, 3, 99), &card, base + 3.5); /* a larger bucket, too */
    /* Three buckets of 4 MiB: the first starts before_2 before the end of backward and takes 4.5. The second becomes ready
     * during that time, so all three queue behind each other. */
    assert_true(before_2() - before_1() < 4.5 && before_2() > 4.5);
    assert_case_of("comm_buckets", options_of(4, 12, 4), &card, base + 3 * 4.5 - before_2());
    card.transfer_core = 1;
    assert_case_of("comm_buckets", options_of(4, 12, 4), &card, base + 3 * 4.5);
}

static void what_does_not_divide_is_cut_all_the_same(void **state)
{
    (void)state;
    static const int sizes[][4] = { /* MiB of message and bucket; number of buckets, MiB of the last */
                                    { 128, 25, 6, 3 }, { 128, 128, 1, 128 }, { 128, 1, 128, 1 },
                                    { 10, 3, 4, 1 },   { 10, 5, 2, 5 },      { 1, 25, 1, 1 }
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct options o = options_of(4, sizes[i][0], sizes[i][1]);
        assert_int_equal(cut_message(&o).count, 0);
        buckets(&o);
        struct buckets cut = cut_message(&o);
        const struct bucket *last = &cut.at[cut.count - 1];
        assert_int_equal(cut.count, sizes[i][2]);
        assert_int_equal(last->begin + last->count, (size_t)sizes[i][0] * MIB / 4);
        assert_int_equal(last->count, (size_t)sizes[i][3] * MIB / 4);
    }
}

static void ddp_has_the_last_layer_first(void **state)
{
    (void)state;
    const struct run *run = &run_published;
    assert_int_equal(mlp_layer_offset(run, MLP_LAYERS) * 4, OWN_BYTES);
    struct options o = options_of(4, 1, 1);
    assert_int_equal(cut_own(&o).count, 0);
    one_bucket(&o);
    assert_int_equal(cut_own(&o).count, 1);
    assert_int_equal(cut_own(&o).at[0].count * 4, OWN_BYTES);
    assert_int_equal(cut_own(&o).at[0].layer, 0);
    ddp(&o);
    struct buckets two = cut_own(&o);
    assert_int_equal(two.count, 2);
    assert_int_equal(two.at[0].count * 4, LAST_LAYER_BYTES);
    assert_int_equal(two.at[0].layer, MLP_LAYERS - 1);
    assert_int_equal(two.at[1].begin, 0);
    assert_int_equal(two.at[1].count, two.at[0].begin);
    assert_int_equal(two.at[1].layer, 0);
}

static void one_rank_has_nobody_to_send_to(void **state)
{
    (void)state;
    struct card card = flat_card(1, 4);
    assert_case("baseline", &card, 20);
    assert_case("comm_kept_ws4", &card, 20);
    assert_case("comm_buckets", &card, 20);
    assert_case("comm_ws4", &card, 20 + 30);
}

/* Run four ranks on two cores, 2 W for each. Filling memory takes twice as long, too, and so does the part of backward that
 * hides buckets. */
static void ranks_that_share_cores_fill_in_turns(void **state)
{
    (void)state;
    struct card card = flat_card(4, 2);
    assert_case("baseline", &card, 40 + 10);
    assert_case("comm_kept_ws4", &card, 40 + 10 + 10);
    assert_case("comm_ws4", &card, 2 * (20 + 30) + 10 + 10);
    card.transfer_core = 0;
    assert_case("comm_buckets", &card, 40 + 10 + 6 * 10 - 2 * before_2());
}

static void try_refusing(const void *settings)
{
    refuse(settings);
}

static struct ending ending_with(struct options settings)
{
    return ending_of(try_refusing, &settings);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    assert_int_equal(ending_with(options_of(4, 128, 1)).status, 99);
    struct ending ending = ending_with(options_of(4, 129, 1));
    assert_int_equal(ending.status, STATUS_USAGE);
    assert_holds(ending.err, "--bucket-mb 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_message_costs_the_same),
        cmocka_unit_test(a_network_of_its_own_begins_during_backward),
        cmocka_unit_test(every_byte_costs),
        cmocka_unit_test(the_last_bucket_always_shows),
        cmocka_unit_test(what_does_not_divide_is_cut_all_the_same),
        cmocka_unit_test(ddp_has_the_last_layer_first),
        cmocka_unit_test(one_rank_has_nobody_to_send_to),
        cmocka_unit_test(ranks_that_share_cores_fill_in_turns),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests_name("comm_bound", tests, NULL, NULL);
}
