/* test_ring_allreduce_ranks.c: test the all-reduces of lab 06 on real ranks under mpirun, for every world size up to all ranks and for
 * counts that cannot be split evenly. Sums must be right and equal on all ranks, and traffic must match the formula. A rank that
 * adds wrongly must be noticed. Also tests the formulas where the machine of round numbers (tests/sim) does not reach: additions
 * that cost time, other numbers of ranks than four. */
#include "labs/06_ring_allreduce.h"

#include "support/formula.h"
#include "support/on_ranks.h"

#include <stdlib.h>

enum { MOST = 1000 };
static const size_t counts[] = { 0, 1, 2, 3, 5, 8, 9, 63, 840, MOST };

/* Number of failed checks. A rank must not stop at a failed check, since the others would wait for it in a collective. */
static int complaints;

static void expect(bool holds)
{
    complaints += !holds;
}

static float term(int rank, size_t i)
{
    return 1.0f / (float)(1 + rank + (int)(i % 97)); /* sums are rounded, so the order of additions matters */
}

/* Check that `mine` is the same on all ranks of the world, bit by bit. */
static void expect_alike(struct world *part, const float *mine, size_t count)
{
    size_t ranks = (size_t)world_size(part);
    float *all = memory_new(ranks * MOST, sizeof *all);
    world_allgather(part, mine, count * sizeof *mine, all);
    for (size_t rank = 0; rank < ranks && count > 0; rank++)
        expect(memcmp(all + rank * count, mine, count * sizeof *mine) == 0);
    free(all);
}

static void expect_sum(struct by_hand *h, struct world *part, size_t count)
{
    float data[MOST + 1];
    int ranks = world_size(part);
    for (size_t i = 0; i <= MOST; i++)
        data[i] = i < count ? term(world_rank(part), i) : 12345;
    sum_by_hand(h, data, count);
    for (size_t i = 0; i < count; i++) {
        double exact_sum = 0;
        for (int rank = 0; rank < ranks; rank++)
            exact_sum += (double)term(rank, i);
        expect(fabs((double)data[i] - exact_sum) <= ranks * 0x1p-23 * exact_sum);
    }
    for (size_t i = count; i <= MOST; i++)
        expect(data[i] >= 12345 && data[i] <= 12345); /* elements beyond `count` are unchanged */
    expect_alike(part, data, count);
}

/* Compare the traffic with the formula. It must match exactly if all parts have equal size, else within one element per
 * message. */
static void expect_traffic(enum way way, struct p2p *p2p, struct world *part, size_t count)
{
    int rank = world_rank(part), ranks = world_size(part);
    struct traffic got = p2p_traffic(p2p);
    struct traffic formula = methods[way].sends(rank, ranks, (double)(count * sizeof(float)));
    double slack = way == RING && count % (size_t)ranks ? formula.sent_messages * (double)sizeof(float) : 0;
    expect(fabs(got.sent_bytes - formula.sent_bytes) <= slack);
    if (count >= (size_t)ranks)
        expect(got.sent_messages == formula.sent_messages);
    else
        expect(got.sent_messages <= formula.sent_messages); /* empty messages are not sent */
    double sums[2] = { got.sent_bytes, got.received_bytes }, all[2 * RANKS_MOST], sent = 0, received = 0;
    world_allgather(part, sums, sizeof sums, all);
    for (int i = 0; i < ranks; i++) {
        sent += all[2 * i];
        received += all[2 * i + 1];
    }
    expect(fabs(sent - received) <= 0); /* all ranks together receive what they send */
    /* 2 (n - 1) S in total is the lower bound of any all-reduce. */
    expect(way == DOUBLING || fabs(sent - 2.0 * (ranks - 1) * (double)(count * sizeof(float))) <= 0);
}

TEST(every_world_and_count_is_summed)
{
    for (int ranks = 1; ranks <= world_size(world); ranks++) {
        struct world *part = world_first(world, ranks);
        if (part) {
            float scratch[MOST];
            struct p2p *p2p = p2p_open(part);
            for (enum way way = GATHER; way < WAYS; way++)
                for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
                    struct by_hand h = { methods[way].sum, p2p, scratch };
                    p2p_traffic(p2p);
                    expect_sum(&h, part, counts[i]);
                    expect_traffic(way, p2p, part, counts[i]);
                }
            p2p_close(p2p);
            world_leave(part);
        }
        world_park(world);
    }
    assert_int_equal(complaints, 0);
}

static void line(struct alpha_beta *link, double alpha, double beta)
{
    *link = (struct alpha_beta){ .points = 3, .bytes = { 1, 1e4, 1e8 } };
    for (int i = 0; i < link->points; i++)
        link->seconds[i] = alpha + beta * link->bytes[i];
    alpha_beta_fit(link);
}

/* Return a card with point-to-point costs. With x = bytes / gradient bytes: a message takes 1 + x ms, an exchange in both
 * directions 2 + x ms, an addition x / 2 ms; of what no cache holds 1 + 2 x, 2 + 3 x and x ms, to
 * what was just sent 2 x. */
static struct card card_of(int ranks)
{
    struct card card = round_card(ranks, ranks);
    double bytes = workload_gradient_bytes(&published_mlp);
    line(&card.p2p.near.send, 1e-3, 1e-3 / bytes);
    line(&card.p2p.near.exchange, 2e-3, 1e-3 / bytes);
    line(&card.p2p.near.add, 0, 0.5e-3 / bytes);
    line(&card.p2p.near.add_sent, 0, 0.5e-3 / bytes);
    line(&card.p2p.far.send, 1e-3, 2e-3 / bytes);
    line(&card.p2p.far.exchange, 2e-3, 3e-3 / bytes);
    line(&card.p2p.far.add, 0, 1e-3 / bytes);
    line(&card.p2p.far.add_sent, 0, 2e-3 / bytes);
    return card;
}

static void assert_way(enum way way, int ranks, double transfer)
{
    struct options o = { .run = run_published, .model = published_mlp, .way = way };
    o.run.ranks = ranks;
    struct card card = card_of(ranks);
    assert_predicted(&o, &card, 20 + transfer);
}

TEST(the_formulas_by_hand)
{
    assert_way(GATHER, 4, 3 * (2 * 3 + 1));
    assert_way(DOUBLING, 4, 2 * (5 + 2));
    assert_way(RING, 4, 6 * 2.75 + 3 * 0.25);
    assert_way(DOUBLING, 5, 2 * (5 + 2) + 2 * 3 + 1);
    assert_way(RING, 8, 14 * 2.375 + 7 * 0.125);
    assert_way(GATHER, 1, 0);
    assert_way(RING, 1, 0);
    /* Crossover at 2 (2 + x + x / 2) = 6 (2 + x / 4) + 3 x / 8: x = 8 / 1.125 times the gradient bytes. */
    struct card card = card_of(4);
    double found = predict_crossover(&card, 4), by_hand = 8 / 1.125 * workload_gradient_bytes(&published_mlp);
    assert_true(fabs(found / by_hand - 1) < 1e-9);
}

/* With the gather, ranks 1 and 2 of four have the sum 6 and 3 ms before ranks 3 and 0: 2.25 ms in the mean. With doubling, ranks 1, 2
 * and 3 of five have it 3 ms before ranks 0 and 4. */
TEST(ranks_that_have_the_sum_early_wait)
{
    const struct {
        enum way way;
        int ranks;
        double early;
    } of[] = {
        { GATHER, 4, 2.25 }, { GATHER, 2, 0 }, { DOUBLING, 4, 0 }, { DOUBLING, 5, 3 * 3.0 / 5 }, { RING, 4, 0 }
    };
    for (int i = 0; i < 5; i++) {
        struct options o = { .run = run_published, .model = published_mlp, .way = of[i].way };
        o.run.ranks = of[i].ranks;
        const struct card card = card_of(of[i].ranks);
        const struct prediction p = predict(&o, &card);
        const double seconds =
            methods[of[i].way].seconds(&card, of[i].ranks, workload_gradient_bytes(&o.model), OF_A_STEP);
        assert_true(fabs(1e3 * (seconds - p.transfer) - of[i].early) < 1e-9);
        assert_true(fabs(1e3 * p.wait - of[i].early) < 1e-9);
    }
}

TEST(a_crossover_lies_between_two_sizes)
{
    const double bytes[] = { 10, 20, 40 }, flat[] = { 5, 5, 5 }, falling[] = { 9, 6, 3 };
    assert_true(fabs(find_crossover(bytes, flat, falling, 3) - (20 + 20.0 / 3)) < 1e-12);
    assert_true(isnan(find_crossover(bytes, falling, flat, 3))); /* faster first, slower at the end */
    assert_true(fabs(find_crossover(bytes, flat, (double[]){ 1, 1, 1 }, 3) - 10) < 1e-12); /* from the first size */
}

/* --- a planted fault ---------------------------------------------------------------------------------------------- */

static void sum_but_one_turn(struct p2p *p2p, float *data, size_t count, float *scratch)
{
    sum_by_ring(p2p, data, count, scratch);
    if (p2p_rank(p2p) == 0 && count > 0)
        data[count / 2] = term(0, count / 2); /* as if this rank had forwarded an old part */
}

TEST(a_wrong_sum_is_noticed)
{
    float data[MOST], scratch[MOST];
    struct p2p *p2p = p2p_open(world);
    struct by_hand right = { sum_by_ring, p2p, scratch }, wrong = { sum_but_one_turn, p2p, scratch };
    struct collective *c = collective_open(world, NULL);
    collective_check(c, CHECK_EACH);
    for (int is_wrong = 0; is_wrong <= 1; is_wrong++) {
        for (size_t i = 0; i < MOST; i++)
            data[i] = term(world_rank(world), i);
        collective_all_reduce_by(c, sum_by_hand, is_wrong ? &wrong : &right);
        collective_run(c, all_reduce(TYPE_F32, data, data, MOST));
        expect(collective_wrong(c).count == (is_wrong && world_rank(world) == 0));
    }
    float send = 2, receive = 0; /* not in place, then with the library again */
    collective_all_reduce_by(c, sum_by_hand, &right);
    collective_run(c, all_reduce(TYPE_F32, &send, &receive, 1));
    expect(receive >= 2.0f * (float)world_size(world) && send < 2.5f);
    collective_all_reduce_by(c, NULL, NULL);
    collective_run(c, all_reduce(TYPE_F32, &send, &receive, 1));
    expect(receive >= 2.0f * (float)world_size(world));
    expect(collective_wrong(c).count == 0);
    collective_close(c);
    p2p_close(p2p);
    assert_int_equal(complaints, 0);
}

AROUND_TESTS(open_ranks, close_ranks)
