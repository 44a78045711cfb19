/* test_split.c: test the causes of a step by hand: what a late rank does longer counts as waiting, and nothing is lost or counted
 * twice. */
#include "analysis/split.h"
#include "support/near.h"
#include "support/unit.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* A rank's step: data, forward, host, wait, transfer 10, and the waiting of others charged to it. */
static struct cell cell_of(double data, double forward, double host, double wait, double caused)
{
    struct cell cell = { .wait = wait, .transfer = 10, .exposed = wait + 10, .caused = caused };
    cell.phase[SPAN_DATA] = data;
    cell.phase[SPAN_FORWARD] = forward;
    cell.phase[SPAN_HOST] = host;
    cell.step = data + forward + host + wait + 10;
    return cell;
}

static struct split_step split(const struct cell *sums, int ranks, struct late_work *late)
{
    *late = (struct late_work){ 0 };
    late_work_add(late, sums, ranks);
    const struct step_means mean = step_means_of(sums, ranks, 1);
    const struct split_step of = split_of(&mean, late, ranks, 1);
    double sum = 0;
    for (int term = 0; term < SPLIT_TERMS; term++)
        sum += of.term[term];
    assert_near(sum, of.step, 1e-12);
    return of;
}

/* Rank 2 fetches for 41 instead of 1: of 4 x 71, 120 are waited for it, and 40 of its own go with that. */
TEST(a_late_fetch_is_waiting)
{
    const struct cell sums[] = { cell_of(1, 20, 0, 40, 0), cell_of(1, 20, 0, 40, 0), cell_of(41, 20, 0, 0, 120),
                                 cell_of(1, 20, 0, 40, 0) };
    struct late_work late;
    const struct split_step of = split(sums, 4, &late);
    assert_near(of.step, 71, 1e-12);
    assert_near(of.term[SPLIT_DATA], 1, 1e-12);
    assert_near(of.term[SPLIT_COMPUTE], 20, 1e-12);
    assert_near(of.term[SPLIT_WAIT], 40, 1e-12);
    assert_near(of.term[SPLIT_TRANSFER], 10, 1e-12);
    assert_int_equal(late_work_by(&late), SPLIT_DATA);
}

/* The late rank computes 25 less than the other: it is 15 late, not 40. */
TEST(less_of_another_work_is_subtracted)
{
    const struct cell sums[] = { cell_of(41, 10, 0, 0, 15), cell_of(1, 35, 0, 15, 0) };
    struct late_work late;
    const struct split_step of = split(sums, 2, &late);
    assert_near(of.term[SPLIT_DATA], 21 - 7.5, 1e-12);
    assert_near(of.term[SPLIT_COMPUTE], 22.5, 1e-12);
    assert_near(of.term[SPLIT_WAIT], 15, 1e-12);
    assert_int_equal(late_work_by(&late), SPLIT_DATA);
}

TEST(ranks_that_come_together_wait_for_none)
{
    const struct cell alone[] = { cell_of(41, 10, 5, 0, 0) },
                      two[] = { cell_of(1, 30, 7, 0, 0), cell_of(1, 30, 7, 0, 0) };
    struct late_work late;
    assert_near(split(alone, 1, &late).term[SPLIT_DATA], 41, 1e-12);
    assert_int_equal(late_work_by(&late), -1);
    assert_near(split(two, 2, &late).term[SPLIT_HOST], 7, 1e-12);
    assert_int_equal(late_work_by(&late), -1);
}

/* Its own work explains 10 of the 40 that the others wait: a rank that began late. */
TEST(a_wait_without_a_cause_has_no_work)
{
    const struct cell sums[] = { cell_of(1, 20, 10, 0, 40), cell_of(1, 20, 0, 40, 0) };
    struct late_work late;
    assert_near(split(sums, 2, &late).term[SPLIT_WAIT], 25, 1e-12); /* a mean rank waits 20; 10 of one of two ranks */
    assert_int_equal(late_work_by(&late), -1);
}

TEST(causes_are_summed_over_windows)
{
    const struct cell data[] = { cell_of(31, 20, 0, 0, 30), cell_of(1, 20, 0, 30, 0) };
    const struct cell host[] = { cell_of(1, 20, 0, 50, 0), cell_of(1, 20, 50, 0, 50) };
    struct late_work all = { 0 }, late;
    split(data, 2, &late);
    late_work_join(&all, &late);
    split(host, 2, &late);
    late_work_join(&all, &late);
    assert_near(all.longest_wait, 80, 1e-12);
    assert_near(all.excess[SPLIT_DATA], 30, 1e-12);
    assert_int_equal(late_work_by(&all), SPLIT_HOST);
}

TEST(waiting_and_transfer_may_be_one_term)
{
    struct step_means mean = { .step = 50, .data = 5, .local = 15, .wait = NAN, .transfer = NAN, .exposed = 30 };
    const struct late_work none = { 0 };
    const struct split_step of[] = { split_of(&mean, &none, 2, 1), split_of(&mean, &none, 2, 1) };
    assert_true(of[0].is_together && isnan(of[0].term[SPLIT_TRANSFER]));
    const struct bound_by bound = split_bound(of, 2);
    assert_int_equal(bound.terms, 4);
    assert_near(bound.share[SPLIT_WAIT].value, 0.6, 1e-12);
    assert_string_equal(bound_by_name(&bound), "communication");
    mean.wait = 10;
    mean.transfer = 20;
    const struct split_step mixed[] = { of[0], split_of(&mean, &none, 2, 1) };
    assert_near(split_bound(mixed, 2).share[SPLIT_WAIT].value, 0.6, 1e-12);
    const struct split_step known[] = { mixed[1], mixed[1] };
    assert_string_equal(bound_by_name(&(struct bound_by){ .terms = 0, .reason = BOUND_NOTHING }), "undetermined");
    const struct bound_by split = split_bound(known, 2);
    assert_int_equal(split.terms, 5);
    assert_string_equal(bound_by_name(&split), "transfer");
}
