/* test_timeline.c: test the split, blame and what-if with spans written by hand. Times are small whole numbers, so every
 * expected value is exact. */
#include "analysis/blame_sentence.h"
#include "analysis/block_results.h"
#include "analysis/case_stats.h"
#include "analysis/timeline.h"
#include "base/memory.h"
#include "base/random.h"
#include "collective/spans.h"
#include "launch/collective_call.h"
#include "report/lanes.h"
#include "report/picture.h"
#include "report/run_report.h"
#include "report/terminal_tables.h"
#include "report/timeline_view.h"
#include "support/hand_spans.h"
#include "support/near.h"
#include "support/unit.h"

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct span sum(int step, int sequence, double start, double entered, double end)
{
    return collective_span(SPAN_ALL_REDUCE, step, sequence, start, entered, end);
}

/* Rank 0 stalls for 40 before its fetch and arrives at 70. The others arrive at 31 and 33 and wait. */
enum { STRAGGLER_SPANS = 5 };
static const struct span straggler[3][STRAGGLER_SPANS] = {
    { { .kind = SPAN_DATA, .start = 0, .entered = 0, .end = 41, .sequence = -1 },
      { .kind = SPAN_FORWARD, .start = 41, .entered = 41, .end = 50, .sequence = -1 },
      { .kind = SPAN_BACKWARD, .start = 50, .entered = 50, .end = 75, .sequence = -1 },
      { .kind = SPAN_ALL_REDUCE, .start = 70, .entered = 70, .end = 75, .sequence = 0 },
      { .kind = SPAN_UPDATE, .start = 75, .entered = 75, .end = 80, .sequence = -1 } },
    { { .kind = SPAN_DATA, .start = 0, .entered = 0, .end = 1, .sequence = -1 },
      { .kind = SPAN_FORWARD, .start = 1, .entered = 1, .end = 11, .sequence = -1 },
      { .kind = SPAN_BACKWARD, .start = 11, .entered = 11, .end = 76, .sequence = -1 },
      { .kind = SPAN_ALL_REDUCE, .start = 31, .entered = 31, .end = 76, .sequence = 0 },
      { .kind = SPAN_UPDATE, .start = 76, .entered = 76, .end = 79, .sequence = -1 } },
    { { .kind = SPAN_DATA, .start = 0, .entered = 0, .end = 2, .sequence = -1 },
      { .kind = SPAN_FORWARD, .start = 2, .entered = 2, .end = 12, .sequence = -1 },
      { .kind = SPAN_BACKWARD, .start = 12, .entered = 12, .end = 75, .sequence = -1 },
      { .kind = SPAN_ALL_REDUCE, .start = 33, .entered = 33, .end = 75, .sequence = 0 },
      { .kind = SPAN_UPDATE, .start = 75, .entered = 75, .end = 81, .sequence = -1 } },
};
static const struct timeline straggler_line = {
    .ranks = 3, .steps = 1, .count = STRAGGLER_SPANS, .spans = straggler[0]
};

TEST(a_straggler_is_split_and_blamed)
{
    struct cell cells[3];
    assert_int_equal(timeline_split(&straggler_line, cells).count, 0);
    static const double wait[] = { 0, 39, 37 }, transfer[] = { 5, 6, 5 }, backward[] = { 20, 20, 21 };
    static const double step[] = { 80, 79, 81 }, data[] = { 41, 1, 2 };
    for (int rank = 0; rank < 3; rank++) {
        const struct cell *c = &cells[rank];
        assert_exactly(c->wait, wait[rank]);
        assert_exactly(c->transfer, transfer[rank]);
        assert_exactly(c->exposed, wait[rank] + transfer[rank]);
        assert_exactly(c->hidden, 0);
        assert_exactly(c->phase[SPAN_BACKWARD], backward[rank]);
        assert_exactly(c->phase[SPAN_DATA], data[rank]);
        assert_exactly(c->step, step[rank]);
        double parts = c->exposed;
        for (int kind = 0; kind < SPAN_PHASES; kind++)
            parts += c->phase[kind];
        assert_exactly(parts, c->step);
    }
    /* Rank 0 arrived at 70, the second-latest rank at 33. Two ranks would wait 70 - 33 less if rank 0 were on time. */
    assert_exactly(cells[0].caused, 74);
    assert_exactly(cells[1].caused, 0);
    assert_int_equal(cells[0].last, 1);
}

TEST(two_that_come_last_together_cause_nothing)
{
    struct span spans[3][STRAGGLER_SPANS];
    memcpy(spans, straggler, sizeof spans);
    spans[2][3].start = spans[2][3].entered = 70; /* at the same time as rank 0 */
    struct timeline line = straggler_line;
    line.spans = spans[0];
    struct cell cells[3];
    assert_int_equal(timeline_split(&line, cells).count, 0);
    for (int rank = 0; rank < 3; rank++) {
        assert_exactly(cells[rank].caused, 0);
        assert_int_equal(cells[rank].last, 0);
    }
    assert_exactly(cells[1].wait, 70 - 31);
}

TEST(what_if_takes_the_median_rank)
{
    /* before the all-reduce: 70, 31, 33 -> 33; transfer after the last start: 5, 6, 5 -> 5; update: 5, 3, 6 -> 5 */
    assert_exactly(timeline_what_if(&straggler_line), 43);
}

TEST(warm_up_is_left_out)
{
    struct span spans[] = {
        phase(SPAN_DATA, 0, 0, 100),     phase(SPAN_DATA, 1, 100, 103),   sum(1, 0, 101, 101, 102),
        phase(SPAN_UPDATE, 1, 103, 107), phase(SPAN_DATA, 0, 0, 90),      phase(SPAN_DATA, 1, 90, 103),
        sum(1, 0, 98, 98, 103),          phase(SPAN_UPDATE, 1, 103, 106),
    };
    struct timeline line = { .ranks = 2, .first_step = 1, .steps = 1, .count = 4, .spans = spans };
    struct cell cells[2];
    assert_int_equal(timeline_split(&line, cells).count, 0);
    assert_exactly(cells[0].step, 7);
    assert_exactly(cells[1].step, 16);
    assert_exactly(cells[1].wait, 3);
    assert_exactly(cells[1].phase[SPAN_DATA], 8);
    /* before the all-reduce 1 and 8 -> 1; transfer after the last start 1 and 2 -> 1; after it 5 and 3 -> 3 */
    assert_exactly(timeline_what_if(&line), 5);
}

/* A nonblocking all-reduce: the ranks start it at 10 and 14 (22 if `is_late`), wait from 20 and 24 on, and finish at 30. */
static struct timeline started_line(struct span spans[6], bool is_late, bool progressed)
{
    double late = is_late ? 22 : 14;
    struct span given[6] = { phase(SPAN_BACKWARD, 0, 0, 32), sum(0, 0, 10, 20, 30),   phase(SPAN_UPDATE, 0, 32, 35),
                             phase(SPAN_BACKWARD, 0, 0, 32), sum(0, 0, late, 24, 30), phase(SPAN_UPDATE, 0, 32, 36) };
    memcpy(spans, given, sizeof given);
    spans[1].progressed = spans[4].progressed = progressed;
    return (struct timeline){ .ranks = 2, .steps = 1, .count = 3, .spans = spans };
}

TEST(a_started_sum_is_hidden_and_exposed)
{
    struct span spans[6];
    struct timeline line = started_line(spans, false, false);
    struct cell cells[2];
    assert_int_equal(timeline_split(&line, cells).count, 0);
    assert_exactly(cells[0].hidden, 10);
    assert_exactly(cells[0].wait, 0);
    assert_exactly(cells[0].transfer, 10);
    assert_exactly(cells[0].exposed, 10);
    assert_exactly(cells[0].phase[SPAN_BACKWARD], 22);
    assert_exactly(cells[1].hidden, 10);
    assert_exactly(cells[1].transfer, 6);
    assert_exactly(cells[1].caused, 4);
    /* Pieces of 10, 10 and 5 (6 on rank 1); the all-reduce takes 30 - 14 = 16 after its start: max(20, 10 + 16) + 5. */
    assert_exactly(timeline_what_if(&line), 31);
}

TEST(entered_early_without_progress_only_exposed_is_known)
{
    struct span spans[6];
    struct timeline line = started_line(spans, true, false);
    struct cell cells[2];
    assert_int_equal(timeline_split(&line, cells).count, 0);
    assert_true(isnan(cells[0].wait) && isnan(cells[0].transfer)); /* rank 0 entered at 20, rank 1 started at 22 */
    assert_exactly(cells[0].exposed, 10);
    assert_exactly(cells[1].wait, 0);
    assert_exactly(cells[1].transfer, 6);

    line = started_line(spans, true, true);
    assert_int_equal(timeline_split(&line, cells).count, 0);
    assert_exactly(cells[0].wait, 2);
    assert_exactly(cells[0].transfer, 8);
}

TEST(a_sum_waited_for_in_a_later_phase_is_exposed_there)
{
    struct span spans[] = { phase(SPAN_BACKWARD, 0, 0, 10), sum(0, 0, 4, 12, 15), phase(SPAN_HOST, 0, 10, 20),
                            phase(SPAN_BACKWARD, 0, 0, 10), sum(0, 0, 4, 11, 15), phase(SPAN_HOST, 0, 10, 20) };
    struct timeline line = { .ranks = 2, .steps = 1, .count = 3, .spans = spans };
    struct cell cells[2];
    assert_int_equal(timeline_split(&line, cells).count, 0);
    assert_exactly(cells[0].phase[SPAN_BACKWARD], 10);
    assert_exactly(cells[0].phase[SPAN_HOST], 7);
    assert_exactly(cells[1].phase[SPAN_HOST], 6);
}

TEST(ranks_may_differ_in_phases_but_not_in_collectives)
{
    struct span spans[] = {
        phase(SPAN_DATA, 0, 0, 3), phase(SPAN_HOST, 0, 3, 9), sum(0, 0, 5, 5, 6),
        phase(SPAN_DATA, 0, 0, 9), sum(0, 0, 2, 2, 6),        { .step = -1 },
    };
    struct timeline line = { .ranks = 2, .steps = 1, .count = 3, .spans = spans };
    struct cell cells[2];
    assert_int_equal(timeline_split(&line, cells).count, 0);
    assert_exactly(cells[1].wait, 3);
    spans[4].bytes = 16;
    assert_true(timeline_split(&line, cells).count > 0);
    spans[4].bytes = 8;
    spans[4].step = 1;
    assert_true(timeline_split(&line, cells).count > 0);
    assert_true(isnan(timeline_what_if(&line)));
    spans[4] = (struct span){ .step = -1 }; /* rank 1 skipped the collective */
    assert_true(timeline_split(&line, cells).count > 0);
}

TEST(leaving_before_the_last_came_is_wrong)
{
    struct span spans[] = { phase(SPAN_DATA, 0, 0, 20), sum(0, 0, 10, 10, 15), phase(SPAN_DATA, 0, 0, 20),
                            sum(0, 0, 16, 16, 18) };
    struct timeline line = { .ranks = 2, .steps = 1, .count = 2, .spans = spans };
    struct cell cells[2];
    assert_int_equal(timeline_split(&line, cells).count, 1);
    line.clock_error = 1; /* clocks of two hosts may differ by 1 */
    assert_int_equal(timeline_split(&line, cells).count, 0);
    assert_exactly(cells[0].wait, 5); /* min(l, L) - e */
    assert_exactly(cells[0].transfer, 0);
}

/* Split the straggler of 40 with uncertain clocks. The second rank arrives 2 after the first, the straggler 37 after the
 * second. With a clock error of 3 the split is unchanged. With an error of 38 only the wait of 39 remains, and no rank is
 * blamed. */
TEST(what_is_shorter_than_the_clocks_error_is_nothing)
{
    struct timeline line = straggler_line;
    struct cell cells[3];
    line.clock_error = 3;
    assert_int_equal(timeline_split(&line, cells).count, 0);
    assert_exactly(cells[1].wait, 39);
    assert_exactly(cells[2].wait, 37);
    assert_exactly(cells[0].caused, 74);
    line.clock_error = 38;
    assert_int_equal(timeline_split(&line, cells).count, 0);
    assert_exactly(cells[1].wait, 39);
    assert_exactly(cells[1].transfer, 6);
    assert_exactly(cells[2].wait, 0);
    assert_exactly(cells[2].transfer, 42);
    assert_exactly(cells[0].caused, 0);
    assert_int_equal(cells[0].last, 0);
    line.clock_error = 50;
    assert_int_equal(timeline_split(&line, cells).count, 0);
    int last = 0;
    char *text = blame_sentence(&line, 0, &last);
    assert_string_equal(text, "no rank waits longer than the 50000.0 ms by which clocks may differ");
    assert_int_equal(last, -1);
    free(text);
}

TEST(one_rank_does_not_wait)
{
    struct span spans[] = { phase(SPAN_BACKWARD, 0, 0, 20), sum(0, 0, 10, 10, 12) };
    struct timeline line = { .ranks = 1, .steps = 1, .count = 2, .spans = spans };
    struct cell cell;
    assert_int_equal(timeline_split(&line, &cell).count, 0);
    assert_exactly(cell.wait, 0);
    assert_exactly(cell.transfer, 2);
    assert_exactly(cell.caused, 0);
    assert_exactly(timeline_what_if(&line), 20);
}

TEST(stretches_cover_each_lane_without_gaps)
{
    struct segment *segments = NULL;
    int count = timeline_segments(&straggler_line, 0, &segments);
    double reached[3] = { 0 }, waited[3] = { 0 }, late[3] = { 0 };
    for (int i = 0; i < count; i++) {
        const struct segment *s = &segments[i];
        assert_int_equal(s->lane, 0);
        assert_exactly(s->start, reached[s->rank]);
        reached[s->rank] = s->end;
        waited[s->rank] += s->kind == SEGMENT_WAIT ? s->end - s->start : 0;
        late[s->rank] += s->late;
    }
    assert_exactly(reached[0], 80);
    assert_exactly(reached[1], 79);
    assert_exactly(waited[1], 39);
    assert_exactly(late[0], 70 - 33);
    assert_exactly(late[1] + late[2], 0);
    free(segments);
}

/* Three sums are started at 10, 10 and 15; the rank waits for them from 20 on, one after another. */
TEST(started_sums_fly_one_after_another)
{
    struct span spans[4] = { phase(SPAN_BACKWARD, 0, 0, 40), sum(0, 0, 10, 20, 24), sum(0, 1, 10, 24, 31),
                             sum(0, 2, 15, 31, 33) };
    struct timeline line = { .ranks = 1, .steps = 1, .count = 4, .spans = spans };
    struct segment *segments = NULL;
    int count = timeline_segments(&line, 0, &segments), seen = 0;
    static const double expected[][2] = { { 10, 24 }, { 24, 31 }, { 31, 33 } };
    for (int i = 0; i < count; i++) {
        if (segments[i].lane == 0)
            continue;
        assert_int_equal(segments[i].kind, SEGMENT_TRAVEL);
        assert_true(seen < 3);
        assert_exactly(segments[i].start, expected[seen][0]);
        assert_exactly(segments[i].end, expected[seen++][1]);
    }
    assert_int_equal(seen, 3);
    free(segments);
}

/* A step's segments take the memory of that step, however many steps the round has. */
TEST(segments_take_the_memory_of_their_step)
{
    enum { STEPS = 1000 };
    struct span spans[2 * STEPS];
    for (int step = 0; step < STEPS; step++) {
        spans[2 * step] = phase(SPAN_BACKWARD, step, 20 * step, 20 * step + 20);
        spans[2 * step + 1] = sum(step, step, 20 * step + 10, 20 * step + 10, 20 * step + 12);
    }
    struct timeline line = { .ranks = 1, .steps = STEPS, .count = 2 * STEPS, .spans = spans };
    struct segment *segments = NULL;
    assert_int_equal(timeline_segments(&line, 500, &segments), 3); /* backward, transfer, backward */
    assert_true(malloc_usable_size(segments) < STEPS * sizeof *segments / 4);
    free(segments);
}

TEST(the_recorder_leaves_no_gap)
{
    struct spans spans;
    spans_open(&spans, 8);
    spans_restart(&spans, 2, 5);
    spans.step = 1;
    spans_phase(&spans, SPAN_DATA, 10);
    spans_phase(&spans, SPAN_FORWARD, 12);
    struct span *collective =
        spans_collective(&spans, &(struct collective_call){ .kind = ALL_REDUCE, .sequence = 7, .bytes = 64 });
    collective->start = collective->entered = 13;
    collective->end = 14;
    spans_end(&spans, 15);
    assert_int_equal(spans.count, 3);
    assert_exactly(spans.at[0].end, spans.at[1].start);
    assert_exactly(spans.at[1].end, 15);
    assert_int_equal(spans.at[2].sequence, 7);
    assert_int_equal(spans.at[2].round, 2);
    assert_int_equal(spans.at[2].variant, 5);
    assert_int_equal(spans.at[2].step, 1);
    assert_null(spans_collective(NULL, &(struct collective_call){ .kind = ALL_REDUCE }));
    spans_close(&spans);
}

/* Return statistics of six rounds of one step each. In round r, rank late[r % 3] arrives last, by `by`. */
static struct case_stats stats_of(const int late[3], double by)
{
    struct case_stats stats;
    case_stats_open(&stats, &(struct run){ .ranks = 3, .cycle = 1 }, false);
    for (int round = 0; round < 6; round++) {
        struct span spans[3 * 2];
        for (int rank = 0; rank < 3; rank++) {
            double start = 10 + (rank == late[round % 3] ? by : 0);
            spans[2 * rank] = phase(SPAN_BACKWARD, 0, 0, 14 + by);
            spans[2 * rank + 1] = sum(0, round, start, start, 12 + by);
        }
        case_stats_add(&stats, &(struct timeline){ .ranks = 3, .steps = 1, .count = 2, .spans = spans }, NULL);
    }
    return stats;
}

TEST(only_a_steady_culprit_is_named)
{
    struct case_stats baseline = stats_of((int[]){ 0, 1, 2 }, 1);
    struct case_stats steady = stats_of((int[]){ 2, 2, 2 }, 40);
    struct case_stats roaming = stats_of((int[]){ 2, 0, 1 }, 40);
    struct case_summary s = case_stats_summarise(&steady, &baseline);
    assert_int_equal(s.blamed_rank, 2);
    assert_exactly(s.blamed_wait, 80);
    assert_int_equal(case_stats_summarise(&roaming, &baseline).blamed_rank, -1);
    assert_int_equal(case_stats_summarise(&baseline, &baseline).blamed_rank, -1);
    assert_int_equal(case_stats_summarise(&steady, &steady).blamed_rank,
                     2); /* the baseline may have a slow rank, too */

    assert_exactly(s.slowest_step, 54);
    assert_exactly(s.mean.step, s.mean.data + s.mean.local + s.mean.host + s.mean.wait + s.mean.transfer);
    assert_true(fabs(s.vs_baseline.value - 54.0 / 15) < 1e-12);
    assert_true(fabs(s.vs_baseline.low - s.vs_baseline.high) < 1e-12); /* all rounds are equal */
    assert_int_equal(steady.wrong.count, 0);
    case_stats_close(&baseline);
    case_stats_close(&steady);
    case_stats_close(&roaming);
}

/* Return statistics of six rounds of one step with two all-reduces. Rank 2 is late by `by` at the first, rank 0 by `other` at the
 * second, in every round. */
static struct case_stats shared_blame(double by, double other)
{
    struct case_stats stats;
    case_stats_open(&stats, &(struct run){ .ranks = 3, .cycle = 1 }, false);
    for (int round = 0; round < 6; round++) {
        struct span spans[3 * 3];
        for (int rank = 0; rank < 3; rank++) {
            double first = 10 + (rank == 2 ? by : 0), second = 60 + (rank == 0 ? other : 0);
            spans[3 * rank] = phase(SPAN_BACKWARD, 0, 0, 100);
            spans[3 * rank + 1] = sum(0, 2 * round, first, first, 50);
            spans[3 * rank + 2] = sum(0, 2 * round + 1, second, second, 100);
        }
        case_stats_add(&stats, &(struct timeline){ .ranks = 3, .steps = 1, .count = 3, .spans = spans }, NULL);
    }
    return stats;
}

/* A rank that is charged most in every round is blamed only if it is charged with more than three quarters of all waiting. */
TEST(half_of_the_waiting_is_not_enough)
{
    static const struct {
        double by, other;
        int blamed;
    } of[] = { { 20, 16, -1 }, { 30, 12, -1 }, { 30, 10, -1 }, { 31, 10, 2 }, { 30, 0, 2 } };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct case_stats stats = shared_blame(of[i].by, of[i].other);
        assert_int_equal(stats.wrong.count, 0);
        assert_exactly(stats.sum[2].caused, 6 * 2 * of[i].by);
        assert_exactly(stats.sum[0].caused, 6 * 2 * of[i].other);
        assert_int_equal(case_stats_summarise(&stats, NULL).blamed_rank, of[i].blamed);
        case_stats_close(&stats);
    }
}

/* Without a baseline, also blame a rank that causes less waiting than the baseline has. A culprit that changes from round
 * to round is still not blamed. */
TEST(without_a_baseline_nothing_is_compared)
{
    struct case_stats baseline = stats_of((int[]){ 0, 1, 2 }, 2);
    struct case_stats little = stats_of((int[]){ 1, 1, 1 }, 1);
    assert_int_equal(case_stats_summarise(&little, &baseline).blamed_rank, -1);
    struct case_summary s = case_stats_summarise(&little, NULL);
    assert_int_equal(s.blamed_rank, 1);
    assert_exactly(s.blamed_wait, 2);
    assert_true(isnan(s.vs_baseline.value));
    assert_int_equal(s.numerics, NUMERICS_UNKNOWN);
    assert_int_equal(case_stats_summarise(&baseline, NULL).blamed_rank, -1);

    /* Two of three ranks wait 0.4 s of steps of 14.4 s, or 0.5 s of 14.5 s: 1.9 % and 2.3 % of the rank-seconds. */
    struct case_stats least = stats_of((int[]){ 1, 1, 1 }, 0.4), enough = stats_of((int[]){ 1, 1, 1 }, 0.5);
    assert_int_equal(case_stats_summarise(&least, NULL).blamed_rank, -1);
    assert_int_equal(case_stats_summarise(&enough, NULL).blamed_rank, 1);
    case_stats_close(&least);
    case_stats_close(&enough);
    case_stats_close(&baseline);
    case_stats_close(&little);
}

/* Check that a few collectives are not enough for blame: one rank may arrive last in all of them by chance. */
TEST(luck_names_no_rank)
{
    struct case_stats baseline = stats_of((int[]){ 0, 1, 2 }, 1), stats;
    for (int rounds = 1; rounds <= 4; rounds++) {
        case_stats_open(&stats, &(struct run){ .ranks = 3, .cycle = 1 }, false);
        for (int round = 0; round < rounds; round++) {
            struct span spans[6];
            for (int rank = 0; rank < 3; rank++) {
                spans[2 * rank] = phase(SPAN_BACKWARD, 0, 0, 60);
                spans[2 * rank + 1] = sum(0, round, rank == 1 ? 50 : 10, rank == 1 ? 50 : 10, 52);
            }
            case_stats_add(&stats, &(struct timeline){ .ranks = 3, .steps = 1, .count = 2, .spans = spans }, NULL);
        }
        /* 3 x (1/3)^rounds is below 5 % from four rounds on */
        assert_int_equal(case_stats_summarise(&stats, &baseline).blamed_rank, rounds >= 4 ? 1 : -1);
        case_stats_close(&stats);
    }
    case_stats_close(&baseline);
}

/* Luck of a machine that lasts: in each step one rank is late by a random time, and the next step has the same rank and time with
 * probability 1 - 1/length. `slow` >= 0: that rank is late by 40 as well. */
struct luck {
    struct random random;
    double length;
    int slow;
};

static void add_lucky_round(struct case_stats *stats, struct luck *luck, int steps)
{
    const int ranks = stats->ranks, count = 2 * steps;
    const double step_length = 100, longest = 45;
    struct span *spans = memory_new((size_t)ranks * (size_t)count, sizeof *spans);
    int late = 0;
    double by = 0;
    for (int step = 0; step < steps; step++) {
        if (step == 0 || random_unit(&luck->random) < 1 / luck->length) {
            late = (int)random_below(&luck->random, (uint32_t)ranks);
            by = -10 * log1p(-random_unit(&luck->random));
        }
        for (int rank = 0; rank < ranks; rank++) {
            double begin = step * step_length, start = begin + 10;
            start += (rank == late ? fmin(by, longest) : 0) + (rank == luck->slow ? 40 : 0);
            struct span *at = &spans[rank * count + 2 * step];
            at[0] = phase(SPAN_BACKWARD, step, begin, begin + step_length);
            at[1] = sum(step, step, start, start, begin + step_length);
        }
    }
    case_stats_add(stats, &(struct timeline){ .ranks = ranks, .steps = steps, .count = count, .spans = spans }, NULL);
    free(spans);
}

/* Return in how many of `runs` runs a rank is blamed. A run has `first` steps in its first round and `later` in each other one. */
static int blamed_runs(int runs, int ranks, int rounds, int first, int later, struct luck luck)
{
    int blamed = 0;
    random_seed(&luck.random, 2026);
    for (int run = 0; run < runs; run++) {
        struct case_stats stats;
        case_stats_open(&stats, &(struct run){ .ranks = ranks, .cycle = 1 }, false);
        for (int round = 0; round < rounds; round++)
            add_lucky_round(&stats, &luck, round ? later : first);
        struct case_summary s = case_stats_summarise(&stats, NULL);
        assert_int_equal(stats.wrong.count, 0);
        if (luck.slow >= 0 && s.blamed_rank >= 0)
            assert_int_equal(s.blamed_rank, luck.slow);
        blamed += s.blamed_rank >= 0;
        case_stats_close(&stats);
    }
    return blamed;
}

/* Luck that lasts one step, a few, or the whole round blames a rank in hardly more than 5 % of the runs. */
TEST(luck_that_lasts_names_no_rank)
{
    static const double lengths[] = { 1, 2, 4, 8, 1000 };
    static const int ranks[] = { 2, 4 }, shapes[][3] = { { 6, 10, 4 }, { 3, 10, 2 }, { 4, 2, 2 }, { 12, 10, 4 } };
    enum { RUNS = 1000, MOST = 65 }; /* 5 %, and twice the standard deviation of 1000 draws */
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (size_t j = 0; j < sizeof ranks / sizeof *ranks; j++)
            for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
                const int *shape = shapes[k]; /* rounds, steps of the first and of the others */
                int blamed = blamed_runs(RUNS, ranks[j], shape[0], shape[1], shape[2],
                                         (struct luck){ .length = lengths[i], .slow = -1 });
                if (blamed > MOST)
                    fail_msg("%d ranks, %d rounds, luck of %g steps: %d of %d runs blame a rank", ranks[j], shape[0],
                             lengths[i], blamed, RUNS);
            }
}

/* A rank that is late by 40 in every step is named in spite of such luck, of 10 on average: in a usual run, in one long round, and
 * in a --quick run of four ranks. */
TEST(a_slow_rank_is_named_in_spite_of_luck)
{
    enum { RUNS = 200, LEAST = 190 };
    const struct luck luck = { .length = 2, .slow = 1 };
    assert_in_range(blamed_runs(RUNS, 2, 6, 10, 4, luck), LEAST, RUNS);
    assert_in_range(blamed_runs(RUNS, 4, 6, 10, 4, luck), LEAST, RUNS);
    assert_in_range(blamed_runs(RUNS, 2, 1, 28, 0, luck), LEAST, RUNS);
    assert_in_range(blamed_runs(RUNS, 4, 4, 2, 2, luck), LEAST, RUNS);
    assert_int_equal(blamed_runs(RUNS, 2, 4, 2, 2, luck), 0); /* chance: 2 x (1/2)^4 = 12 % */
}

/* Stretches are single steps of simulated ranks and four steps of real ranks, and end with their round. */
TEST(steps_in_a_row_count_once)
{
    static const struct {
        int steps, rounds;
        bool is_simulated;
        int stretches;
    } of[] = { { 5, 1, false, 2 }, { 4, 1, false, 1 }, { 2, 3, false, 3 }, { 10, 2, false, 6 }, { 5, 2, true, 10 } };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct case_stats stats;
        struct luck luck = { .length = 1, .slow = 2 };
        random_seed(&luck.random, 1);
        case_stats_open(&stats, &(struct run){ .ranks = 4, .cycle = 1 }, of[i].is_simulated);
        for (int round = 0; round < of[i].rounds; round++)
            add_lucky_round(&stats, &luck, of[i].steps);
        assert_int_equal(stats.culprits.by_stretch.charged, of[i].stretches);
        assert_int_equal(stats.culprits.by_round.charged, of[i].rounds);
        assert_int_equal(case_stats_summarise(&stats, NULL).is_too_short, of[i].stretches < 4);
        case_stats_close(&stats);
    }
}

/* Rank 2 is late in four of six rounds, which happens by chance (4 ranks: 15 %), though in 12 of 14 stretches. */
TEST(a_long_round_counts_once)
{
    static const int slow[] = { 2, 2, 2, 2, 0, 1 }, steps[] = { 10, 10, 10, 10, 4, 4 };
    struct case_stats stats;
    struct luck luck = { .length = 1 };
    random_seed(&luck.random, 1);
    case_stats_open(&stats, &(struct run){ .ranks = 4, .cycle = 1 }, false);
    for (int round = 0; round < 6; round++) {
        luck.slow = slow[round];
        add_lucky_round(&stats, &luck, steps[round]);
    }
    assert_int_equal(stats.culprits.by_round.foremost[2], 4);
    assert_int_equal(stats.culprits.by_stretch.foremost[2], 12);
    const struct case_summary s = case_stats_summarise(&stats, NULL);
    assert_int_equal(s.blamed_rank, -1);
    assert_false(s.is_too_short);
    case_stats_close(&stats);
}

/* Two ranks in two steps. Rank 1 takes three times as long as rank 0, so the mean over ranks and steps equals rank 0's sum. */
TEST(terms_of_a_step_are_means_over_ranks_and_steps)
{
    struct cell sums[2] = { 0 };
    for (int rank = 0; rank < 2; rank++) {
        const double times = rank ? 3 : 1;
        sums[rank] =
            (struct cell){ .step = 508 * times, .wait = 128 * times, .transfer = 256 * times, .exposed = 384 * times };
        sums[rank].phase[SPAN_DATA] = 4 * times;
        sums[rank].phase[SPAN_FORWARD] = 8 * times;
        sums[rank].phase[SPAN_BACKWARD] = 16 * times;
        sums[rank].phase[SPAN_UPDATE] = 32 * times;
        sums[rank].phase[SPAN_HOST] = 64 * times;
    }
    const struct step_means mean = step_means_of(sums, 2, 2);
    assert_exactly(mean.step, 508);
    assert_exactly(mean.data, 4);
    assert_exactly(mean.local, 8 + 16 + 32);
    assert_exactly(mean.update, 32);
    assert_exactly(mean.host, 64);
    assert_exactly(mean.wait, 128);
    assert_exactly(mean.transfer, 256);
    assert_exactly(mean.exposed, 384);
}

/* Synchronize every second step: windows of all ranks are equally long even if their single steps differ. */
TEST(windows_are_compared_not_steps)
{
    struct case_stats stats;
    case_stats_open(&stats, &(struct run){ .ranks = 2, .cycle = 2 }, false);
    struct span spans[] = {
        phase(SPAN_DATA, 0, 0, 30), phase(SPAN_DATA, 1, 30, 40), sum(1, 0, 38, 38, 40),
        phase(SPAN_DATA, 0, 0, 10), phase(SPAN_DATA, 1, 10, 40), sum(1, 0, 20, 20, 40),
    };
    case_stats_add(&stats, &(struct timeline){ .ranks = 2, .steps = 2, .count = 3, .spans = spans }, NULL);
    struct case_summary s = case_stats_summarise(&stats, &stats);
    assert_int_equal(stats.windows, 1);
    assert_exactly(s.median_step, 20);
    assert_exactly(s.p95_step, 20);
    assert_exactly(s.rank_skew, 0);
    assert_exactly(s.slowest_step, 20);
    assert_exactly(s.mean.step, 20);
    assert_exactly(s.mean.data, 14.5); /* up to the sum: (30 + 8 + 10 + 10) of four steps */
    assert_memory_equal(&stats.round[0].mean, &s.mean, sizeof s.mean); /* the only round */
    case_stats_close(&stats);
}

TEST(losses_tell_what_changed)
{
    struct case_stats baseline = stats_of((int[]){ 0, 0, 0 }, 1), other = stats_of((int[]){ 0, 0, 0 }, 1);
    for (int rank = 0; rank < 3; rank++) {
        baseline.loss[rank] = other.loss[rank] = 6.5 + rank;
        baseline.samples[rank] = other.samples[rank] = 128;
    }
    assert_int_equal(case_stats_summarise(&other, &baseline).numerics, NUMERICS_SAME);
    other.loss[1] = nextafter(other.loss[1], 9);
    assert_int_equal(case_stats_summarise(&other, &baseline).numerics, NUMERICS_REORDERED);
    other.loss[1] += 0.1;
    assert_int_equal(case_stats_summarise(&other, &baseline).numerics, NUMERICS_CHANGED);
    other.loss[1] = (double)NAN;
    assert_int_equal(case_stats_summarise(&other, &baseline).numerics, NUMERICS_CHANGED);
    case_stats_close(&baseline);
    case_stats_close(&other);
}

TEST(drifting_replicas_and_lost_numbers_are_wrong)
{
    float replica[64] = { 1, 2, 3 };
    uint64_t hash = block_results_hash(replica, 64);
    struct rank_result results[3];
    struct block block = { .timeline = { .ranks = 3 }, .results = results };
    for (int rank = 0; rank < 3; rank++)
        results[rank] = (struct rank_result){ .loss = 6.9, .hash = hash };
    assert_int_equal(block_results_wrong(&block, 0, false).count, 0);
    replica[63] = nextafterf(replica[63], 1); /* the last bit of the last parameter */
    results[2].hash = block_results_hash(replica, 64);
    assert_int_equal(block_results_wrong(&block, 0, false).count, 1);
    results[1].loss = (double)NAN;
    results[1].wrong.count = 2;
    assert_int_equal(block_results_wrong(&block, 0, false).count, 4);
}

/* Return what table_blame() prints about the second of two cases, whose baseline takes 0.1 s and would take `what_if`. */
static char *sentence_beside(double what_if, bool is_wrong)
{
    struct outcome outcomes[] = {
        { .name = "baseline", .stats = { .ranks = 2 }, .summary = { .mean.step = 0.1, .what_if = what_if } },
        { .name = "late",
          .stats = { .ranks = 2 },
          .summary = { .mean = { .step = 0.2, .wait = 0.05 }, .what_if = 0.11, .blamed_rank = -1 } }
    };
    const struct report report = { .outcomes = outcomes, .cases = 2, .trains_on = "core" };
    outcomes[0].stats.wrong.count = is_wrong;
    char *text = NULL;
    size_t size = 0;
    FILE *out = memory_stream(&text, &size);
    table_blame(out, &report, &outcomes[1]);
    fclose(out);
    return text;
}

TEST(the_baselines_own_gain_stands_beside_what_if)
{
    static const struct {
        double what_if;
        bool is_wrong;
        const char *end;
    } of[] = { { 0.096, false, ";\nthe baseline took 100.0 ms and would gain 4.0 ms the same way.\n" },
               { 0.1, false, ";\nthe baseline took 100.0 ms and would gain 0.0 ms the same way.\n" },
               { 0.10001, false, ";\nthe baseline took 100.0 ms and would gain 0.0 ms the same way.\n" },
               { 0.102, false, ";\nthe baseline took 100.0 ms and would lose 2.0 ms the same way.\n" },
               { (double)NAN, false, ";\nthe baseline took 100.0 ms.\n" },
               { 0.096, true, "(computed from late alone).\n" } };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        char *text = sentence_beside(of[i].what_if, of[i].is_wrong);
        const char *found = strstr(text, of[i].end);
        if (!found || found[strlen(of[i].end)])
            fail_msg("does not end with \"%s\": %s", of[i].end, text);
        free(text);
    }
}

/* --- blame sentences --------------------------------------------------------------------------------------------- */

static void assert_blame(const struct timeline *line, int step, const char *expected)
{
    int last;
    char *text = blame_sentence(line, step, &last);
    if (!text || !expected)
        assert_true(!text && !expected);
    else
        assert_string_equal(text, expected);
    free(text);
}

TEST(waiting_is_reported_with_its_reason)
{
    /* Spans are in seconds, the sentence is in milliseconds. */
    assert_blame(&straggler_line, 0,
                 "ranks 1 and 2 wait 37000.0 to 39000.0 ms for rank 0: its data took 41000.0 ms, theirs 1000.0 ms");
    struct timeline line = straggler_line;
    line.hides_arrivals = true;
    assert_blame(&line, 0, NULL);
    line = straggler_line;
    line.ranks = 1;
    assert_blame(&line, 0, NULL);

    /* Rank 2 arrives together with rank 0: the sentence names neither and gives no reason. */
    struct span spans[3][STRAGGLER_SPANS];
    memcpy(spans, straggler, sizeof spans);
    spans[2][3].start = spans[2][3].entered = 70;
    line = straggler_line;
    line.spans = spans[0];
    assert_blame(&line, 0, "rank 1 waits 39000.0 ms for the last ranks, which arrive together");
    spans[1][3].start = spans[1][3].entered = 68; /* waits 2 of a step of 81 */
    assert_blame(&line, 0, "no rank waits longer than 2000.0 ms");
    spans[1][3].start = spans[1][3].entered = 70;
    assert_blame(&line, 0, "no rank waits");
}

TEST(only_a_reason_that_explains_is_given)
{
    /* Rank 1 is late by 10; its fetch explains 4 of these. The last example starts its step 8 late. */
    struct span spans[] = {
        phase(SPAN_DATA, 0, 0, 2),       phase(SPAN_BACKWARD, 0, 2, 30), sum(0, 0, 10, 10, 30),
        phase(SPAN_DATA, 0, 0, 6),       phase(SPAN_BACKWARD, 0, 6, 15), phase(SPAN_HOST, 0, 15, 20),
        phase(SPAN_BACKWARD, 0, 20, 30), sum(0, 0, 20, 20, 30),
    };
    struct span lined[2][5] = { { spans[0], spans[1], spans[2], { .step = -1 }, { .step = -1 } },
                                { spans[3], spans[4], spans[5], spans[6], spans[7] } };
    struct timeline line = { .ranks = 2, .steps = 1, .count = 5, .spans = lined[0] };
    assert_blame(&line, 0, "rank 0 waits 10000.0 ms for rank 1: its host work took 5000.0 ms");
    lined[1][2].kind = SPAN_UPDATE; /* no longer host work: no single phase explains half of the 10 */
    lined[1][2].start = lined[1][1].end = 16;
    assert_blame(&line, 0, "rank 0 waits 10000.0 ms for rank 1");

    struct span late[] = { phase(SPAN_BACKWARD, 3, 0, 30), sum(3, 0, 10, 10, 30), phase(SPAN_BACKWARD, 3, 8, 30),
                           sum(3, 0, 18, 18, 30) };
    line = (struct timeline){ .ranks = 2, .first_step = 3, .steps = 1, .count = 2, .spans = late };
    assert_blame(&line, 3, "rank 0 waits 8000.0 ms for rank 1, which began the step 8000.0 ms later");
    assert_blame(&line, 4, NULL); /* no such step */
}

/* --- groups, broadcasts and messages ---------------------------------------------------------------------------- */

/* A blocking collective of 8 bytes in a group. */
static struct span call(enum span_kind kind, int group, int sequence, double start, double end)
{
    struct span span = collective_span(kind, 0, sequence, start, start, end);
    span.group = (int16_t)group;
    span.to = span.from = -1;
    return span;
}

static struct span peer_call(enum span_kind kind, int to, int from, double start, double end)
{
    struct span span = call(kind, 0, 0, start, end);
    span.to = (int16_t)to;
    span.from = (int16_t)from;
    return span;
}

static void assert_cell(const struct cell *cell, double wait, double transfer, double caused, int last)
{
    assert_exactly(cell->wait, wait);
    assert_exactly(cell->transfer, transfer);
    assert_exactly(cell->caused, caused);
    assert_int_equal(cell->last, last);
}

/* Ranks 0 and 2 are group 1, ranks 1 and 3 group 2. The calls of the groups alternate in time, with equal sequence numbers. */
TEST(groups_that_interleave_are_split_apart)
{
    struct span spans[4][3] = {
        { phase(SPAN_BACKWARD, 0, 0, 100), call(SPAN_ALL_REDUCE, 1, 0, 10, 22), call(SPAN_ALL_REDUCE, 1, 1, 40, 51) },
        { phase(SPAN_BACKWARD, 0, 0, 100), call(SPAN_ALL_REDUCE, 2, 0, 30, 36), call(SPAN_BARRIER, 2, 1, 60, 70) },
        { phase(SPAN_BACKWARD, 0, 0, 100), call(SPAN_ALL_REDUCE, 1, 0, 20, 22), call(SPAN_ALL_REDUCE, 1, 1, 50, 51) },
        { phase(SPAN_BACKWARD, 0, 0, 100), call(SPAN_ALL_REDUCE, 2, 0, 34, 36), call(SPAN_BARRIER, 2, 1, 61, 70) },
    };
    struct timeline line = { .ranks = 4, .steps = 1, .count = 3, .spans = spans[0] };
    struct cell cells[4];
    assert_int_equal(timeline_split(&line, cells).count, 0);
    assert_cell(&cells[0], 10 + 10, 2 + 1, 0, 0);
    assert_cell(&cells[1], 4 + 1, 2 + 9, 0, 0);
    assert_cell(&cells[2], 0, 2 + 1, 20, 2);
    assert_cell(&cells[3], 0, 2 + 9, 5, 2);
    assert_true(isnan(timeline_what_if(&line))); /* barriers and all-reduces do not compare */
    assert_blame(&line, 0, "rank 0 waits 10000.0 ms for rank 2: its compute took 20000.0 ms, rank 0's 10000.0 ms");
}

/* Tensor groups 1 (ranks 0, 1) and 2 (ranks 2, 3), data groups 3 (ranks 0, 2) and 4 (ranks 1, 3), then a barrier of all. */
enum { LAYOUT_SPANS = 4 };
static const struct timeline *layout_line(struct span spans[4][LAYOUT_SPANS])
{
    static const double at[4][7] = { { 10, 14, 20, 26, 30, 33, 35 },
                                     { 12, 14, 22, 25, 31, 33, 35 },
                                     { 11, 13, 24, 26, 32, 33, 36 },
                                     { 11, 13, 21, 25, 30, 33, 37 } };
    static struct timeline line = { .ranks = 4, .steps = 1, .count = LAYOUT_SPANS };
    for (int rank = 0; rank < 4; rank++) {
        const double *time = at[rank];
        spans[rank][0] = phase(SPAN_BACKWARD, 0, 0, time[6]);
        spans[rank][1] = call(SPAN_ALL_GATHER, 1 + rank / 2, 0, time[0], time[1]);
        spans[rank][2] = call(SPAN_ALL_REDUCE, 3 + rank % 2, 0, time[2], time[3]);
        spans[rank][3] = call(SPAN_BARRIER, 0, 0, time[4], time[5]);
    }
    line.spans = spans[0];
    return &line;
}

TEST(a_rank_in_two_groups_waits_in_each)
{
    struct span spans[4][LAYOUT_SPANS];
    const struct timeline *line = layout_line(spans);
    struct cell cells[4];
    assert_int_equal(timeline_split(line, cells).count, 0);
    assert_cell(&cells[0], 2 + 4 + 2, 2 + 2 + 1, 0, 0);
    assert_cell(&cells[1], 0 + 0 + 1, 2 + 3 + 1, 2 + 1, 2);
    assert_cell(&cells[2], 0 + 0 + 0, 2 + 2 + 1, 4 + 3 * 1, 2); /* the barrier's second rank comes at 31 */
    assert_cell(&cells[3], 0 + 1 + 2, 2 + 3 + 1, 0, 0);         /* group 2 ties */
    /* pieces 11, 8, 5, 2; transfers 2, 2, 1: medians over ranks, whatever their groups */
    assert_exactly(timeline_what_if(line), 11 + 2 + 8 + 2 + 5 + 1 + 2);

    /* Group 3 has another kind or size than group 4: each group agrees, but the ranks' steps do not compare. */
    spans[0][2].bytes = spans[2][2].bytes = 16;
    assert_int_equal(timeline_split(line, cells).count, 0);
    assert_true(isnan(timeline_what_if(line)));
    layout_line(spans);
    spans[0][2].kind = spans[2][2].kind = SPAN_REDUCE_SCATTER;
    assert_int_equal(timeline_split(line, cells).count, 0);
    assert_true(isnan(timeline_what_if(line)));
    layout_line(spans);
    spans[1][1].start = spans[1][1].entered = 12.5; /* transfers of 1.5, 1.5, 2 and 2 */
    assert_exactly(timeline_what_if(line), 11 + 1.5 + 8 + 2 + 5 + 1 + 2);
}

/* The groups call in another order on ranks 1 and 3: the n-th calls differ. */
TEST(steps_in_another_order_have_no_what_if)
{
    struct span spans[4][LAYOUT_SPANS];
    const struct timeline *line = layout_line(spans);
    for (int rank = 0; rank < 4; rank++)
        spans[rank][2].kind = SPAN_ALL_GATHER;
    assert_exactly(timeline_what_if(line), 31);
    for (int rank = 1; rank < 4; rank += 2) { /* started first, entered last */
        struct span other = spans[rank][3];
        spans[rank][3] = spans[rank][2];
        spans[rank][2] = other;
    }
    struct cell cells[4];
    assert_int_equal(timeline_split(line, cells).count, 0);
    assert_true(isnan(timeline_what_if(line)));
}

/* Ranks 0, 1 and 2 hand bucket C over when backward ends, at 20, 23 and 25. At the same instant they notice that sum A is over, and begin
 * to wait for B, then for C. */
enum { TIED_SPANS = 5 };
static const struct timeline *tied_line(struct span spans[3][TIED_SPANS], double late)
{
    static struct timeline line = { .ranks = 3, .steps = 1, .count = TIED_SPANS };
    static const double a[] = { 5, 6, 6 }, b[] = { 12, 14, 16 }, end[] = { 20, 23, 25 };
    for (int rank = 0; rank < 3; rank++) {
        const struct span own[TIED_SPANS] = { phase(SPAN_BACKWARD, 0, 0, 31), sum(0, 0, a[rank], end[rank], end[rank]),
                                              sum(0, 1, b[rank], end[rank], 28), sum(0, 2, end[rank], 28, 31),
                                              phase(SPAN_UPDATE, 0, 31, 33) };
        memcpy(spans[rank], own, sizeof own);
    }
    spans[1][3].start += late;
    line.spans = spans[0];
    return &line;
}

/* Medians: pieces 6, 8, 9, then 2; transfers 17, 12, 6. C is handed over at 23, and not after the wait for B, which ends at 26. */
TEST(what_is_handed_over_at_the_instant_of_a_wait_comes_first)
{
    struct span spans[3][TIED_SPANS];
    assert_exactly(timeline_what_if(tied_line(spans, 0)), 23 + 6 + 2);
    static const double rounded[] = { -1e-9, -1e-12, 1e-12, 1e-9 };
    for (int i = 0; i < 4; i++) { /* on one rank the stamps are no longer equal, but still of one instant */
        double step = timeline_what_if(tied_line(spans, rounded[i]));
        assert_true(fabs(step - 31) < 1e-8);
    }
}

/* Two blocking sums that take no time once the last rank is there. On rank 0 all four events are at 10; rank 1, which waits from 4 on,
 * shows their order. */
TEST(of_one_instant_other_ranks_show_the_order)
{
    struct span spans[2][4] = {
        { phase(SPAN_BACKWARD, 0, 0, 10), sum(0, 0, 10, 10, 10), sum(0, 1, 10, 10, 10), phase(SPAN_UPDATE, 0, 10, 12) },
        { phase(SPAN_BACKWARD, 0, 0, 10), sum(0, 0, 4, 4, 10), sum(0, 1, 10, 10, 10), phase(SPAN_UPDATE, 0, 10, 12) }
    };
    const struct timeline line = { .ranks = 2, .steps = 1, .count = 4, .spans = spans[0] };
    assert_exactly(timeline_what_if(&line), 4 + 2);
}

/* Rank 1 is the root of a broadcast. */
static void root_at(struct span spans[4][2], const double start[4], const double end[4])
{
    for (int rank = 0; rank < 4; rank++) {
        spans[rank][0] = phase(SPAN_BACKWARD, 0, 0, 70);
        spans[rank][1] = peer_call(SPAN_BROADCAST, -1, rank == 1 ? -1 : 1, start[rank], end[rank]);
    }
}

TEST(a_broadcast_waits_for_its_root)
{
    struct span spans[4][2];
    struct timeline line = { .ranks = 4, .steps = 1, .count = 2, .spans = spans[0] };
    struct cell cells[4];
    root_at(spans, (double[]){ 10, 40, 12, 20 }, (double[]){ 45, 44, 46, 47 });
    assert_int_equal(timeline_split(&line, cells).count, 0);
    assert_cell(&cells[0], 30, 5, 0, 0);
    assert_cell(&cells[1], 0, 4, 30 + 28 + 20, 1);
    assert_cell(&cells[2], 28, 6, 0, 0);
    assert_cell(&cells[3], 20, 7, 0, 0);
    assert_blame(
        &line, 0,
        "ranks 0, 2 and 3 wait 20000.0 to 30000.0 ms for rank 1: its compute took 40000.0 ms, theirs 12000.0 ms");
    assert_exactly(timeline_what_if(&line), 12 + 5 + 24); /* rest of the phase: 25, 26, 24, 23 */
}

TEST(a_late_leaf_of_a_broadcast_delays_no_rank)
{
    struct span spans[4][2];
    struct timeline line = { .ranks = 4, .steps = 1, .count = 2, .spans = spans[0] };
    struct cell cells[4];
    root_at(spans, (double[]){ 10, 40, 12, 60 }, (double[]){ 45, 44, 46, 62 });
    assert_int_equal(timeline_split(&line, cells).count, 0); /* the others end before rank 3 arrives, as they may */
    assert_cell(&cells[0], 30, 5, 0, 0);
    assert_cell(&cells[1], 0, 4, 30 + 28, 1);
    assert_cell(&cells[3], 0, 2, 0, 0);
    line.clock_error = 29;
    assert_int_equal(timeline_split(&line, cells).count, 0);
    assert_cell(&cells[1], 0, 4, 30, 1); /* rank 2's wait of 28 cannot be measured */
    root_at(spans, (double[]){ 10, 5, 12, 60 }, (double[]){ 13, 9, 14, 62 });
    line.clock_error = 0;
    assert_int_equal(timeline_split(&line, cells).count, 0);
    for (int rank = 0; rank < 4; rank++)
        assert_cell(&cells[rank], 0, spans[rank][1].end - spans[rank][1].start, 0, 0);

    root_at(spans, (double[]){ 10, 40, 12, 60 }, (double[]){ 39, 44, 46, 62 });
    assert_int_equal(timeline_split(&line, cells).count, 0); /* ends of broadcasts are not compared with arrivals */
    assert_cell(&cells[0], 29, 0, 0, 0);
    root_at(spans, (double[]){ 10, 5, 12, 60 }, (double[]){ 13, 9, 14, 62 });
    line.hides_peers = true; /* the root is not known: neither is waiting */
    assert_int_equal(timeline_split(&line, cells).count, 0);
    assert_true(isnan(cells[0].wait) && isnan(cells[0].transfer));
    assert_exactly(cells[0].exposed, 3);
    assert_true(isnan(timeline_what_if(&line)));
}

/* A pipeline: rank 0 sends to rank 1, which sends to rank 2. Rank 1 has all it needs when rank 0 comes, rank 2 when rank 1 comes. */
TEST(a_message_waits_for_its_two_ranks)
{
    struct span spans[3][2] = {
        { phase(SPAN_FORWARD, 0, 0, 40), peer_call(SPAN_SEND_RECEIVE, 1, -1, 30, 33) },
        { phase(SPAN_FORWARD, 0, 0, 40), peer_call(SPAN_SEND_RECEIVE, 2, 0, 10, 35) },
        { phase(SPAN_FORWARD, 0, 0, 40), peer_call(SPAN_SEND_RECEIVE, -1, 1, 6, 20) },
    };
    spans[2][1].bytes = 4; /* messages may differ in size */
    struct timeline line = { .ranks = 3, .steps = 1, .count = 2, .spans = spans[0] };
    struct cell cells[3];
    assert_int_equal(timeline_split(&line, cells).count, 0); /* rank 2 ends before rank 0 arrives, as it may */
    assert_cell(&cells[0], 0, 3, 0, 0);
    assert_cell(&cells[1], 20, 5, 0, 0);
    assert_cell(&cells[2], 4, 10, 0, 0);
    assert_blame(&line, 0, "rank 1 waits 20000.0 ms for rank 0");
    spans[2][1].start = spans[2][1].entered = 0; /* two ranks wait, for different ones */
    assert_blame(&line, 0, "ranks 1 and 2 wait 10000.0 to 20000.0 ms for the ranks with which they exchange messages");
    /* A rank also waits for the one to which it sends: rank 1 for rank 2. */
    spans[2][1].start = spans[2][1].entered = 34;
    spans[2][1].end = 36;
    assert_int_equal(timeline_split(&line, cells).count, 0);
    assert_cell(&cells[1], 24, 1, 0, 0);
    assert_true(isnan(timeline_what_if(&line))); /* messages of different sizes do not compare */
    spans[2][1].bytes = 8;
    assert_exactly(timeline_what_if(&line), 30 + 2 + 5); /* 30, 10, 34 -> 30; 3, 1, 2 -> 2; 7, 5, 4 -> 5 */
    line.hides_peers = true;
    assert_int_equal(timeline_split(&line, cells).count, 0);
    assert_true(isnan(cells[1].wait));
}

static void assert_mismatch(const struct timeline *line, const char *expected)
{
    struct cell cells[4];
    struct check_failures wrong = timeline_split(line, cells);
    assert_int_equal(wrong.count, 1);
    assert_string_equal(wrong.first, expected);
}

TEST(a_mismatch_names_group_ranks_and_calls)
{
    struct span spans[4][LAYOUT_SPANS];
    const struct timeline *line = layout_line(spans);
    spans[1][2].bytes = spans[3][2].bytes = 400;
    spans[1][2].sequence = spans[3][2].sequence = 3;
    struct cell cells[4];
    assert_int_equal(timeline_split(line, cells).count, 0);
    spans[3][2].kind = SPAN_BARRIER;
    spans[3][2].bytes = 0;
    assert_mismatch(line, "group 4: rank 1 made all_reduce 3 of 400 bytes, rank 3 made barrier 3");
    spans[3][2] = (struct span){ .step = -1 };
    spans[3][3].group = 4; /* rank 3 is still a member of group 4, and has made no call in group 0 */
    spans[3][3].sequence = 3;
    assert_mismatch(line, "rank 0 made barrier 0 of 8 bytes, rank 3 made no more calls");
    layout_line(spans);
    spans[2][3].step = 1;
    assert_mismatch(line, "rank 0 made barrier 0 of 8 bytes in step 1, rank 2 made barrier 0 of 8 bytes in step 2");
    layout_line(spans);
    spans[0][2].group = 1; /* one call more in group 1; none in group 3, which rank 2 is left alone in */
    assert_mismatch(line, "group 1: rank 0 made all_reduce 0 of 8 bytes, rank 1 made no more calls");
    assert_true(isnan(timeline_what_if(line)));

    struct span roots[4][2];
    root_at(roots, (double[]){ 10, 40, 12, 20 }, (double[]){ 45, 44, 46, 47 });
    roots[3][1].from = 2;
    struct timeline broadcast = { .ranks = 4, .steps = 1, .count = 2, .spans = roots[0] };
    assert_mismatch(&broadcast,
                    "rank 0 made broadcast 0 of 8 bytes from rank 1, rank 3 made broadcast 0 of 8 bytes from rank 2");
}

/* Collectives that were started in one order and waited for in the other. */
TEST(stretches_come_in_the_order_of_waiting)
{
    struct span spans[] = { phase(SPAN_BACKWARD, 0, 0, 30), sum(0, 0, 4, 18, 22), sum(0, 1, 6, 10, 13),
                            phase(SPAN_BACKWARD, 0, 0, 30), sum(0, 0, 4, 18, 22), sum(0, 1, 6, 10, 13) };
    struct timeline line = { .ranks = 2, .steps = 1, .count = 3, .spans = spans };
    struct segment *segments = NULL;
    int count = timeline_segments(&line, 0, &segments);
    double reached[2] = { 0 };
    for (int i = 0; i < count; i++)
        if (segments[i].lane == 0) {
            assert_exactly(segments[i].start, reached[segments[i].rank]);
            reached[segments[i].rank] = segments[i].end;
        }
    assert_exactly(reached[0], 30);
    assert_exactly(reached[1], 30);
    free(segments);
}

TEST(a_late_root_is_marked)
{
    struct span spans[4][2];
    root_at(spans, (double[]){ 10, 40, 12, 60 }, (double[]){ 45, 44, 46, 62 });
    struct timeline line = { .ranks = 4, .steps = 1, .count = 2, .spans = spans[0] };
    struct segment *segments = NULL;
    int count = timeline_segments(&line, 0, &segments);
    double late[4] = { 0 };
    for (int i = 0; i < count; i++)
        late[segments[i].rank] += segments[i].late;
    assert_exactly(late[1], 40 - 12);
    assert_exactly(late[0] + late[2] + late[3], 0);
    free(segments);
}

static void assert_traffic(enum span_kind kind, int ranks, int to, int from, double sent, double received)
{
    struct collective_traffic traffic = collective_traffic(kind, ranks, 400, to, from);
    assert_exactly(traffic.sent, sent);
    assert_exactly(traffic.received, received);
}

TEST(traffic_is_the_least_of_any_algorithm)
{
    assert_traffic(SPAN_ALL_REDUCE, 4, -1, -1, 600, 600);
    assert_traffic(SPAN_ALL_GATHER, 4, -1, -1, 300, 300);
    assert_traffic(SPAN_REDUCE_SCATTER, 4, -1, -1, 300, 300);
    assert_traffic(SPAN_BROADCAST, 4, -1, -1, 400, 0);
    assert_traffic(SPAN_BROADCAST, 4, -1, 2, 0, 400);
    assert_traffic(SPAN_BROADCAST, 1, -1, -1, 0, 0);
    assert_traffic(SPAN_SEND_RECEIVE, 4, 1, -1, 400, 0);
    assert_traffic(SPAN_SEND_RECEIVE, 4, -1, 1, 0, 400);
    assert_traffic(SPAN_SEND_RECEIVE, 4, 2, 1, 400, 400);
    assert_traffic(SPAN_BARRIER, 4, -1, -1, 0, 0);
    assert_traffic(SPAN_ALL_REDUCE, 1, -1, -1, 0, 0);
    assert_traffic(SPAN_DATA, 4, -1, -1, 0, 0);
}

/* spans.csv: the bytes are those of two ranks in group 3 (8 each way), not of all four (12). */
TEST(the_table_of_spans_names_group_and_traffic)
{
    struct span spans[4][LAYOUT_SPANS];
    const struct timeline *line = layout_line(spans);
    char *text = NULL;
    size_t size = 0;
    struct csv csv = { .out = open_memstream(&text, &size) };
    report_add_spans(&csv, line, "x");
    fclose(csv.out);
    assert_non_null(strstr(text, ",measured,group,sent_bytes,received_bytes\n"));
    assert_non_null(strstr(text, "\n0,0,x,0,backward,,0.000000,0.000000,35000.000000,0,0,1,,,\n"));
    assert_non_null(strstr(text, "\n2,0,x,0,all_reduce,0,24000.000000,24000.000000,26000.000000,8,0,1,3,8,8\n"));
    assert_non_null(strstr(text, "\n2,0,x,0,barrier,0,32000.000000,32000.000000,33000.000000,8,0,1,0,0,0\n"));
    free(text);
}

/* --- lanes ------------------------------------------------------------------------------------------------------ */

/* Rank 0 arrives last at the first all-reduce, and rank 1 waits long. Rank 2 arrives last at the second all-reduce, with a
 * larger distance to the second-latest rank. */
TEST(the_lane_that_is_marked_is_the_one_that_is_named)
{
    struct span spans[3][3] = {
        { phase(SPAN_BACKWARD, 0, 0, 0.100), sum(0, 0, 0.040, 0.040, 0.041), sum(0, 1, 0.060, 0.060, 0.070) },
        { phase(SPAN_BACKWARD, 0, 0, 0.100), sum(0, 0, 0.010, 0.010, 0.041), sum(0, 1, 0.060, 0.060, 0.070) },
        { phase(SPAN_BACKWARD, 0, 0, 0.100), sum(0, 0, 0.038, 0.038, 0.041), sum(0, 1, 0.065, 0.065, 0.070) },
    };
    double slowest = 0;
    struct outcome o = { .name = "late_ws4",
                         .picture = { .ranks = 3, .steps = 1, .count = 3, .spans = spans[0] },
                         .stats = { .every = 1, .slowest = &slowest } };
    struct timeline_view p = timeline_view_take(&o);
    assert_non_null(strstr(p.text, "for rank 0"));
    assert_int_equal(p.last, 0);
    timeline_view_drop(&p);
}

/* Add a step of two ranks: `data` and then `local` on each, rank 0 beginning `later`; all-reduce and end after all have arrived. */
static void add_step(struct span *spans, int count, int step, double data, double local, double later)
{
    double begin = 100 * step, end = begin + later + data + local;
    for (int rank = 0; rank < 2; rank++) {
        struct span *at = spans + rank * count + 3 * step;
        double start = begin + (rank == 0 ? later : 0), entered = start + data + local;
        at[0] = phase(SPAN_DATA, step, start, start + data);
        at[1] = phase(SPAN_BACKWARD, step, start + data, end + 4);
        at[2] = sum(step, step, entered, entered, end + 4);
    }
}

/* Step 1 has the median length, but its phases are odd. In step 2 one rank begins late, step 3 is longer, step 0 is typical. If steps
 * differ on purpose, the means decide, here those of step 3. */
TEST(the_drawn_step_is_typical_in_every_phase)
{
    enum { STEPS = 5, COUNT = 3 * STEPS };
    static struct span spans[2 * COUNT];
    add_step(spans, COUNT, 0, 2, 20, 0);
    add_step(spans, COUNT, 1, 14, 9, 0);
    add_step(spans, COUNT, 2, 2, 20, 3);
    add_step(spans, COUNT, 3, 2, 34, 0);
    add_step(spans, COUNT, 4, 2, 80, 0);
    for (int whole = 0; whole < 2; whole++) {
        struct outcome o = { .name = "some_ws4",
                             .run = { .ranks = 2, .cycle = 1, .whole = whole },
                             .picture = { .ranks = 2, .steps = STEPS, .count = COUNT, .spans = spans } };
        case_stats_open(&o.stats, &o.run, true);
        case_stats_add(&o.stats, &o.picture, NULL);
        const struct step_profile typical = case_stats_typical(&o.stats);
        assert_exactly(typical.spread, 0);
        assert_exactly(typical.mean.data, whole ? 4.4 : 2);
        assert_exactly(typical.mean.local, whole ? 32.6 : 20);
        assert_int_equal(picture_step(&o), whole ? 3 : 0);
        case_stats_close(&o.stats);
    }
}

/* Offer rounds of two steps each, which compute `local` and 1 longer, and return the one that the picture has in the end. */
static int round_drawn(const double *local, int rounds)
{
    enum { STEPS = 2, COUNT = 3 * STEPS };
    struct span spans[4][2 * COUNT];
    struct outcome o = { .name = "some_ws4", .run = { .ranks = 2, .cycle = 1 } };
    case_stats_open(&o.stats, &o.run, true);
    for (int i = 0; i < rounds; i++) {
        const struct timeline line = { .ranks = 2, .steps = STEPS, .count = COUNT, .spans = spans[i] };
        add_step(spans[i], COUNT, 0, 2, local[i], 0);
        add_step(spans[i], COUNT, 1, 2, local[i] + 1, 0);
        case_stats_add(&o.stats, &line, NULL);
        if (picture_is_nearer(&o, &line))
            o.picture = line;
    }
    case_stats_close(&o.stats);
    for (int i = 0; i < rounds; i++)
        if (o.picture.spans == spans[i])
            return i;
    return -1;
}

/* The machine was slow in round 0, which shows in the third round, or in the last one; of equally near rounds the first is kept. */
TEST(the_drawn_round_is_typical_of_all)
{
    assert_int_equal(round_drawn((const double[]){ 20 }, 1), 0);
    assert_int_equal(round_drawn((const double[]){ 90, 20, 20, 21 }, 4), 2);
    assert_int_equal(round_drawn((const double[]){ 20, 20, 20, 90 }, 4), 0);
    assert_int_equal(round_drawn((const double[]){ 20 + 1e-10, 20, 20, 20 }, 4), 0); /* as simulated clocks round */
}

/* Return a step in which rank `late` arrives 40 ms late. Each rank arrives 0.01 ms later than the rank before, and odd
 * ranks arrive `spread` seconds later. */
static struct outcome outcome_spread(int ranks, int late, double spread, double *slowest)
{
    struct span *spans = memory_new((size_t)(3 * ranks), sizeof *spans);
    for (int rank = 0; rank < ranks; rank++) {
        double start = 0.010 + 0.00001 * rank + (rank == late ? 0.040 : spread * (rank % 2));
        spans[3 * rank] = phase(SPAN_DATA, 0, 0, start - 0.009);
        spans[3 * rank + 1] = phase(SPAN_BACKWARD, 0, start - 0.009, 0.060);
        spans[3 * rank + 2] = sum(0, 0, start, start, 0.060);
    }
    return (struct outcome){ .name = "late_ws4",
                             .idea = "one of them comes late, which is told in many words",
                             .picture = { .ranks = ranks, .steps = 1, .count = 3, .spans = spans },
                             .stats = { .every = 1, .slowest = slowest } };
}

static struct outcome outcome_of(int ranks, int late, double *slowest)
{
    return outcome_spread(ranks, late, 0, slowest);
}

TEST(many_ranks_share_lanes_but_not_the_last)
{
    double slowest = 0;
    struct outcome o = outcome_of(TIMELINE_VIEW_LANES_MOST, 7, &slowest);
    struct timeline_view p = timeline_view_take(&o);
    assert_int_equal(p.collapsed_count, TIMELINE_VIEW_LANES_MOST); /* up to this number each rank has a lane */
    assert_exactly(p.fold, 0);
    timeline_view_drop(&p);
    free((void *)o.picture.spans);

    o = outcome_of(64, 7, &slowest);
    p = timeline_view_take(&o);
    assert_int_equal(p.last, 7);
    assert_int_equal(p.collapsed_count, 3);
    static const struct collapsed_ranks expected[] = { { 0, 6 }, { 7, 7 }, { 8, 63 } };
    assert_memory_equal(p.collapsed, expected, sizeof expected);
    assert_true(p.fold > 0 && p.fold < 0.05); /* 0.63 of 60 ms */
    for (int i = 0; i < p.count; i++)
        assert_true(p.segments[i].rank == 0 || p.segments[i].rank == 7 || p.segments[i].rank == 8);
    timeline_view_drop(&p);
    free((void *)o.picture.spans);

    /* Neighbours differ too much to share lanes, unless all except the last rank count as alike. */
    o = outcome_spread(64, 7, 0.039, &slowest);
    p = timeline_view_take(&o);
    assert_int_equal(p.last, 7);
    assert_int_equal(p.collapsed_count, 3);
    assert_memory_equal(p.collapsed, expected, sizeof expected);
    assert_true(p.fold > 0.7);
    timeline_view_drop(&p);
    free((void *)o.picture.spans);
}

/* Return what lanes_draw() prints; release with free(). */
static char *drawn(struct outcome *outcome, int columns)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct report report = { .outcomes = outcome, .cases = 1 };
    lanes_draw(out, &report, (const char *const[]){ "late_ws4", NULL }, (struct terminal){ .columns = columns });
    fclose(out);
    return text;
}

static void assert_drawn(const char *text, const char *expected)
{
    if (!strstr(text, expected))
        fail_msg("no \"%s\" in\n%s", expected, text);
}

static int widest_line(const char *text)
{
    int widest = 0, wide = 0;
    for (; *text; text++) {
        wide = *text == '\n' ? 0 : wide + ((*text & 0xC0) != 0x80); /* first byte of a UTF-8 character */
        widest = wide > widest ? wide : widest;
    }
    return widest;
}

static void assert_lanes_begin_at(const char *text, size_t column)
{
    for (; (text = strstr(text, "\n  rank ")); text++)
        assert_int_equal(strcspn(text + 1, "\xe2"), column); /* first byte of any glyph of a lane */
}

TEST(lanes_fit_the_terminal)
{
    static const int ranks[] = { 1, 4, 16, 64, 1024 }, columns[] = { 40, 80, 124, 200 };
    double slowest = 0;
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        struct outcome o = outcome_of(ranks[i], 0, &slowest);
        for (size_t j = 0; j < sizeof columns / sizeof *columns; j++) {
            char *text = drawn(&o, columns[j]);
            int least = ranks[i] > 64 ? 45 : 40; /* name of a lane ("  rank 1000-1023 "), twenty columns, a mark */
            int most = columns[j] > least ? columns[j] : least;
            if (widest_line(text) > most)
                fail_msg("%d columns, not %d:\n%s", widest_line(text), most, text);
            assert_null(strchr(text, '\033'));
            free(text);
        }
        free((void *)o.picture.spans);
    }
    struct outcome o = outcome_of(64, 5, &slowest);
    char *text = drawn(&o, 124);
    assert_drawn(text, "the other 63 ranks wait 39.4 to 40.0 ms for rank 5: its data took 41.0 ms, theirs 1.3");
    assert_drawn(text, "\n  rank 6-63 ░");
    assert_drawn(text, "\n  rank 5    ░");
    assert_drawn(text, "Ranks that share a lane differ from its first rank by at most ");
    free(text);
    free((void *)o.picture.spans);
    o = outcome_of(1024, 99, &slowest);
    text = drawn(&o, 124);
    assert_drawn(text, "-1023 ░");
    assert_lanes_begin_at(text, strlen("  rank 905-1023 "));
    free(text);
    free((void *)o.picture.spans);
}

TEST(what_takes_no_time_is_drawn_without_an_axis)
{
    struct span span = phase(SPAN_DATA, 0, 5, 5);
    double slowest = 0;
    struct outcome o = { .name = "late_ws4",
                         .idea = "nothing",
                         .picture = { .ranks = 1, .steps = 1, .count = 1, .spans = &span },
                         .stats = { .every = 1, .slowest = &slowest } };
    char *text = drawn(&o, 80);
    assert_drawn(text, "\n  rank 0 ");
    assert_null(strstr(text, "ms"));
    free(text);
}
