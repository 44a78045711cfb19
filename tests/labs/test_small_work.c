/* test_small_work.c: test the formula of lab 04 where the machine of round numbers (tests/sim) does not reach: additions that cost
 * time, ranks that disturb each other, shared cores. 7.2 ms per step plus 0.1 per sample; T is 10 with four ranks, 6 with two. */
#include "labs/04_small_work.h"

#include "support/formula.h"

static struct options work(int ranks, int batch_size)
{
    struct options o = { .run = run_published, .model = published_mlp };
    o.run.ranks = ranks;
    o.run.batch_size = batch_size;
    return o;
}

/* Return four micro-batches of 32 samples, on four ranks. */
static struct options micro(bool sums_each)
{
    struct options o = work(4, 32);
    o.run.accumulate = 4;
    o.sums_each = sums_each;
    return o;
}

/* Let the gradients take 1 ms to read or write: the first of four is copied (2 ms), three are added (3 ms each). */
TEST(adding_up_is_paid_for)
{
    struct card card = round_card(4, 4);
    card.copy_bandwidth = workload_gradient_bytes(&published_mlp) / 1e-3;
    struct options once = micro(false), each = micro(true), single = work(4, 32);
    assert_predicted(&once, &card, 4 * (3.2 + 3.2) + 4 + 11 + 10);
    assert_predicted(&each, &card, 4 * (3.2 + 3.2) + 4 + 11 + 4 * 10);
    assert_predicted(&single, &card, 7.2 + 3.2 + 10); /* a single micro-batch needs no copy or addition */
}

/* Interpolate costs between one rank alone and all four at once: two ranks are a third of the way, in jitter too. */
TEST(ranks_at_once_disturb_each_other)
{
    struct card card = round_card(4, 4);
    card.together.update += 3e-3;
    card.jitter = 0.06; /* of a local step */
    struct options one = work(1, 128), two = work(2, 128), four = work(4, 128), once = micro(false), each = micro(true);
    assert_predicted(&one, &card, 20);
    assert_predicted(&two, &card, 21 * 1.02 + 6);
    assert_predicted(&four, &card, 23 * 1.06 + 10);
    assert_predicted(&once, &card, (4 * (3.2 + 3.2) + 4 + 3) * 1.06 + 10);
    assert_predicted(&each, &card, (4 * (3.2 + 3.2) + 4 + 3) * 1.06 + 4 * 10);
}

/* On two cores four ranks take twice as long; two ranks or one have a core each. */
TEST(only_ranks_without_a_core_share_one)
{
    struct card two_cores = round_card(4, 2), one_core = round_card(4, 1);
    struct options one = work(1, 128), two = work(2, 128), four = work(4, 128), each = micro(true);
    assert_predicted(&four, &two_cores, 2 * 20 + 10);
    assert_predicted(&two, &two_cores, 20 + 6);
    assert_predicted(&one, &two_cores, 20);
    assert_predicted(&each, &two_cores, 2 * (4 * (3.2 + 3.2) + 4) + 4 * 10);
    assert_predicted(&four, &one_core, 4 * 20 + 10);
    assert_predicted(&two, &one_core, 2 * 20 + 6);
    assert_predicted(&one, &one_core, 20);
}
