/* test_what_if.c: test what a step would take if some ranks were as fast as the others, with spans written by hand. */
#include "analysis/what_if.h"
#include "support/hand_spans.h"
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct span started(int group, int sequence, double start, double entered, double end)
{
    struct span span = collective_span(SPAN_ALL_REDUCE, 0, sequence, start, entered, end);
    span.group = (int16_t)group;
    span.progressed = true;
    return span;
}

static struct span blocking(int group, int sequence, double start, double end)
{
    return started(group, sequence, start, start, end);
}

static const struct span unused = { .step = -1 };

/* Return the length of the replayed steps if the ranks in `fixed` ("02": ranks 0 and 2) are fixed in a phase. */
static double fixed(const struct timeline *t, const char *fixed_ranks, int in_phase)
{
    enum { MOST = 8 };
    bool ranks[MOST] = { false };
    for (const char *c = fixed_ranks; *c; c++)
        ranks[*c - '0'] = true;
    struct what_if *w = what_if_open(t);
    assert_non_null(w);
    double sum = what_if_sum(w, (struct what_if_fix){ *fixed_ranks ? ranks : NULL, in_phase });
    what_if_close(w);
    return sum;
}

static void assert_steps(const struct timeline *t, const char *fixed_ranks, int in_phase, double expected)
{
    double got = fixed(t, fixed_ranks, in_phase);
    if (!(fabs(got - expected) < 1e-12 * expected))
        fail_msg("ranks '%s' fixed in %d: %.15g, not %.15g", fixed_ranks, in_phase, got, expected);
}

/* Rank 0's data take 41, the others' 1 and 2. Without it the last rank arrives at 33 instead of 70. */
TEST(one_rank_is_late_in_its_data)
{
    const struct span spans[] = {
        phase(SPAN_DATA, 0, 0, 41),      phase(SPAN_FORWARD, 0, 41, 50),  phase(SPAN_BACKWARD, 0, 50, 75),
        blocking(0, 0, 70, 75),          phase(SPAN_UPDATE, 0, 75, 80),   phase(SPAN_DATA, 0, 0, 1),
        phase(SPAN_FORWARD, 0, 1, 11),   phase(SPAN_BACKWARD, 0, 11, 76), blocking(0, 0, 31, 76),
        phase(SPAN_UPDATE, 0, 76, 79),   phase(SPAN_DATA, 0, 0, 2),       phase(SPAN_FORWARD, 0, 2, 12),
        phase(SPAN_BACKWARD, 0, 12, 75), blocking(0, 0, 33, 75),          phase(SPAN_UPDATE, 0, 75, 81),
    };
    const struct timeline t = { .ranks = 3, .steps = 1, .count = 5, .spans = spans };
    assert_steps(&t, "", SPAN_PHASES, 70 + 5 + 6); /* transfers of 5, 6, 5; rank 2's update */
    assert_steps(&t, "0", SPAN_PHASES, 33 + 5 + 6);
    assert_steps(&t, "0", SPAN_DATA, 33 + 5 + 6);
    assert_steps(&t, "0", SPAN_FORWARD, 81);
    assert_steps(&t, "1", SPAN_PHASES, 81);
    assert_steps(&t, "2", SPAN_UPDATE, 70 + 5 + 5); /* then rank 0's update is the longest */
    /* All ranks: data 2 at most, forward 10, backward 20, then 5, update 5. */
    assert_steps(&t, "012", SPAN_PHASES, 2 + 10 + 20 + 5 + 5);
    assert_steps(&t, "012", SPAN_DATA, 33 + 5 + 6);
}

/* Ranks 2 and 3, on one host, fetch for 41, the others for 1. */
TEST(two_ranks_of_a_host_are_late_together)
{
    struct span spans[4][5];
    for (int rank = 0; rank < 4; rank++) {
        double data = rank < 2 ? 1 : 41;
        const struct span given[5] = { phase(SPAN_DATA, 0, 0, data), phase(SPAN_FORWARD, 0, data, data + 10),
                                       phase(SPAN_BACKWARD, 0, data + 10, 76), blocking(0, 0, data + 30, 76),
                                       phase(SPAN_UPDATE, 0, 76, 80) };
        memcpy(spans[rank], given, sizeof given);
    }
    const struct timeline t = { .ranks = 4, .steps = 1, .count = 5, .spans = spans[0] };
    assert_steps(&t, "", SPAN_PHASES, 80);
    assert_steps(&t, "2", SPAN_PHASES, 80);
    assert_steps(&t, "3", SPAN_DATA, 80);
    assert_steps(&t, "23", SPAN_PHASES, 40);
    assert_steps(&t, "23", SPAN_DATA, 40);
    assert_steps(&t, "23", SPAN_FORWARD, 80);
    assert_steps(&t, "0123", SPAN_DATA, 40); /* the lower median of 1, 1, 41, 41 */
}

/* Backward takes 20 and starts a bucket in its middle and at its end. A bucket takes 4. Rank 0's forward takes 30, the others' 10. */
TEST(a_late_forward_delays_buckets_beside_backward)
{
    struct span spans[3][6];
    for (int rank = 0; rank < 3; rank++) {
        double begin = rank == 0 ? 32 : 12,
               first_end = rank == 0 ? 52 : 46; /* rank 0 enters the first one after its end */
        const struct span given[6] = { phase(SPAN_DATA, 0, 0, 2),
                                       phase(SPAN_FORWARD, 0, 2, begin),
                                       phase(SPAN_BACKWARD, 0, begin, 56),
                                       started(0, 0, begin + 10, begin + 20, first_end),
                                       started(0, 1, begin + 20, first_end, 56),
                                       phase(SPAN_UPDATE, 0, 56, 59) };
        memcpy(spans[rank], given, sizeof given);
    }
    const struct timeline t = { .ranks = 3, .steps = 1, .count = 6, .spans = spans[0] };
    assert_steps(&t, "", SPAN_PHASES, 59);
    assert_steps(&t, "0", SPAN_PHASES, 39);
    assert_steps(&t, "0", SPAN_FORWARD, 39);
    assert_steps(&t, "0", SPAN_DATA, 59);
    assert_steps(&t, "12", SPAN_PHASES, 59);
}

/* Ranks 0 and 1 are group 1, ranks 2 and 3 group 2, which calls twice; all ranks meet at the end. Rank 1's forward takes 40, the others'
 * 10. */
TEST(groups_of_other_calls_are_replayed)
{
    const struct span spans[] = {
        phase(SPAN_FORWARD, 0, 0, 42),
        blocking(1, 0, 10, 42),
        unused,
        phase(SPAN_BACKWARD, 0, 42, 48),
        blocking(0, 0, 47, 48),
        phase(SPAN_FORWARD, 0, 0, 42),
        blocking(1, 0, 40, 42),
        unused,
        phase(SPAN_BACKWARD, 0, 42, 48),
        blocking(0, 0, 47, 48),
        phase(SPAN_FORWARD, 0, 0, 14),
        blocking(2, 0, 10, 12),
        blocking(2, 1, 12, 14),
        phase(SPAN_BACKWARD, 0, 14, 48),
        blocking(0, 0, 19, 48),
        phase(SPAN_FORWARD, 0, 0, 14),
        blocking(2, 0, 10, 12),
        blocking(2, 1, 12, 14),
        phase(SPAN_BACKWARD, 0, 14, 48),
        blocking(0, 0, 19, 48),
    };
    const struct timeline t = { .ranks = 4, .steps = 1, .count = 5, .spans = spans };
    assert_steps(&t, "", SPAN_PHASES, 48);
    assert_steps(&t, "1", SPAN_PHASES, 20); /* now the second group is the slower one: 10 + 2 + 2 + 5 + 1 */
    assert_steps(&t, "1", SPAN_FORWARD, 20);
    assert_steps(&t, "0", SPAN_PHASES, 48);
    assert_steps(&t, "23", SPAN_PHASES, 48);
}

/* Each rank starts the second sum 2 or 1 after it entered the first; rank 1 enters that at 18 instead of 10. */
TEST(a_sum_started_during_a_wait_starts_as_early_as_before)
{
    const struct span spans[] = {
        phase(SPAN_BACKWARD, 0, 0, 24), blocking(0, 0, 10, 20), started(0, 1, 12, 20, 24),
        phase(SPAN_BACKWARD, 0, 0, 24), blocking(0, 0, 18, 20), started(0, 1, 19, 20, 24),
    };
    const struct timeline t = { .ranks = 2, .steps = 1, .count = 3, .spans = spans };
    assert_steps(&t, "", SPAN_PHASES, 24);
    assert_steps(&t, "1", SPAN_PHASES, 12 + 5); /* last start at 12, transfer 24 - 19 */
}

/* Three steps, the first of them warm-up. Rank 1's host work takes 6 in the second one and 10 in the third; rank 0 has none. */
TEST(each_step_has_its_own_length)
{
    struct span spans[] = {
        phase(SPAN_FORWARD, 0, 0, 99),    phase(SPAN_FORWARD, 1, 100, 108), blocking(0, 1, 101, 108),
        phase(SPAN_FORWARD, 2, 108, 120), blocking(0, 2, 109, 120),         phase(SPAN_FORWARD, 0, 0, 99),
        phase(SPAN_HOST, 1, 100, 108),    blocking(0, 1, 106, 108),         phase(SPAN_HOST, 2, 108, 120),
        blocking(0, 2, 118, 120),
    };
    spans[2].step = spans[7].step = 1;
    spans[4].step = spans[9].step = 2;
    const struct timeline t = { .ranks = 2, .first_step = 1, .steps = 2, .count = 5, .spans = spans };
    struct what_if *w = what_if_open(&t);
    double lengths[2];
    assert_true(what_if_replay(w, (struct what_if_fix){ NULL, SPAN_PHASES }, lengths));
    assert_float_equal(lengths[0], 8, 1e-12);
    assert_float_equal(lengths[1], 12, 1e-12);
    const bool second[] = { false, true };
    assert_true(what_if_replay(w, (struct what_if_fix){ second, SPAN_HOST }, lengths));
    assert_float_equal(lengths[0], 3, 1e-12);
    assert_float_equal(lengths[1], 3, 1e-12);
    what_if_close(w);
}

/* Rank 1 receives from rank 0, which works for 20; rank 2 only works, for 5. */
TEST(a_message_waits_for_its_sender_only)
{
    struct span spans[] = {
        phase(SPAN_FORWARD, 0, 0, 21), blocking(1, 0, 20, 21),       phase(SPAN_FORWARD, 0, 0, 21),
        blocking(1, 0, 4, 21),         phase(SPAN_FORWARD, 0, 0, 5), unused,
    };
    spans[1].kind = spans[3].kind = SPAN_SEND_RECEIVE;
    spans[1].to = 1;
    spans[1].from = spans[3].to = -1;
    spans[3].from = 0;
    struct timeline t = { .ranks = 3, .steps = 1, .count = 2, .spans = spans };
    assert_steps(&t, "", SPAN_PHASES, 21);
    assert_steps(&t, "0", SPAN_PHASES, 4 + 1);
    t.hides_peers = true;
    assert_null(what_if_open(&t));
}

TEST(what_is_unknown_is_not_replayed)
{
    struct span spans[] = { phase(SPAN_DATA, 0, 0, 9), blocking(0, 0, 3, 9), phase(SPAN_DATA, 0, 0, 9),
                            blocking(0, 0, 5, 9) };
    struct timeline t = { .ranks = 2, .steps = 1, .count = 2, .spans = spans, .hides_arrivals = true };
    assert_null(what_if_open(&t));
    t.hides_arrivals = false;
    spans[3].bytes = 16;
    assert_null(what_if_open(&t));
}

/* Each rank waits for the other one's sum before it starts its own: two groups with the same ranks, in another order. */
TEST(ranks_that_wait_in_a_circle_have_no_length)
{
    const struct span spans[] = {
        phase(SPAN_DATA, 0, 0, 9), blocking(1, 0, 1, 2), blocking(2, 0, 3, 4),
        phase(SPAN_DATA, 0, 0, 9), blocking(2, 0, 1, 2), blocking(1, 0, 3, 4),
    };
    const struct timeline t = { .ranks = 2, .steps = 1, .count = 3, .spans = spans };
    assert_true(isnan(fixed(&t, "", SPAN_PHASES)));
}
