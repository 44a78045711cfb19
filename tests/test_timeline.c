/* The split, blame and what-if against spans laid out by hand. Times are small whole numbers, so every expectation is
 * exact. */
#include "gather.h"
#include "spans.h"
#include "summary.h"
#include "timeline.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct span phase(enum span_kind kind, int step, double start, double end)
{
    return (struct span){
        .kind = (uint8_t)kind, .step = step, .start = start, .entered = start, .end = end, .sequence = -1
    };
}

static struct span sum(int step, int sequence, double start, double entered, double end)
{
    return (struct span){ .kind = SPAN_ALL_REDUCE,
                          .step = step,
                          .sequence = sequence,
                          .start = start,
                          .entered = entered,
                          .end = end,
                          .bytes = 8 };
}

static void assert_exactly(double value, double expected)
{
    if (!(value <= expected && value >= expected))
        fail_msg("%.17g is not %.17g", value, expected);
}

/* Rank 0 stalls for 40 before its fetch; the others arrive at 31 and 33 and wait for its 70. */
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

static void a_straggler_is_split_and_blamed(void **state)
{
    (void)state;
    struct cell cells[3];
    assert_int_equal(timeline_split(&straggler_line, cells), 0);
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
    /* The last came at 70, the one before at 33: (70 - 33) x 2 would vanish had rank 0 alone been on time. */
    assert_exactly(cells[0].caused, 74);
    assert_exactly(cells[1].caused, 0);
    assert_int_equal(cells[0].last, 1);
}

static void two_that_come_last_together_cause_nothing(void **state)
{
    (void)state;
    struct span spans[3][STRAGGLER_SPANS];
    memcpy(spans, straggler, sizeof spans);
    spans[2][3].start = spans[2][3].entered = 70; /* with rank 0 */
    struct timeline line = straggler_line;
    line.spans = spans[0];
    struct cell cells[3];
    assert_int_equal(timeline_split(&line, cells), 0);
    for (int rank = 0; rank < 3; rank++) {
        assert_exactly(cells[rank].caused, 0);
        assert_int_equal(cells[rank].last, 0);
    }
    assert_exactly(cells[1].wait, 70 - 31);
}

static void what_if_takes_the_median_rank(void **state)
{
    (void)state;
    /* to the sum: 70, 31, 33 -> 33; the sum after its last start: 5, 6, 5 -> 5; after it: 5, 3, 6 -> 5 */
    assert_exactly(timeline_what_if(&straggler_line), 43);
}

static void warm_up_is_left_out(void **state)
{
    (void)state;
    struct span spans[] = {
        phase(SPAN_DATA, 0, 0, 100),     phase(SPAN_DATA, 1, 100, 103),   sum(1, 0, 101, 101, 102),
        phase(SPAN_UPDATE, 1, 103, 107), phase(SPAN_DATA, 0, 0, 90),      phase(SPAN_DATA, 1, 90, 103),
        sum(1, 0, 98, 98, 103),          phase(SPAN_UPDATE, 1, 103, 106),
    };
    struct timeline line = { .ranks = 2, .first_step = 1, .steps = 1, .count = 4, .spans = spans };
    struct cell cells[2];
    assert_int_equal(timeline_split(&line, cells), 0);
    assert_exactly(cells[0].step, 7);
    assert_exactly(cells[1].step, 16);
    assert_exactly(cells[1].wait, 3);
    assert_exactly(cells[1].phase[SPAN_DATA], 8);
    /* before the sum 1 and 8 -> 1; the sum 1 and 2 -> 1; after it 5 and 3 -> 3 */
    assert_exactly(timeline_what_if(&line), 5);
}

/* A started sum travels from 10 and 14 on; the ranks begin to wait at 20 and 24 and have it at 30. */
static struct timeline started_line(struct span spans[6], bool is_late, bool progressed)
{
    double late = is_late ? 22 : 14;
    struct span given[6] = { phase(SPAN_BACKWARD, 0, 0, 32), sum(0, 0, 10, 20, 30),   phase(SPAN_UPDATE, 0, 32, 35),
                             phase(SPAN_BACKWARD, 0, 0, 32), sum(0, 0, late, 24, 30), phase(SPAN_UPDATE, 0, 32, 36) };
    memcpy(spans, given, sizeof given);
    spans[1].progressed = spans[4].progressed = progressed;
    return (struct timeline){ .ranks = 2, .steps = 1, .count = 3, .spans = spans };
}

static void a_started_sum_is_hidden_and_exposed(void **state)
{
    (void)state;
    struct span spans[6];
    struct timeline line = started_line(spans, false, false);
    struct cell cells[2];
    assert_int_equal(timeline_split(&line, cells), 0);
    assert_exactly(cells[0].hidden, 10);
    assert_exactly(cells[0].wait, 0);
    assert_exactly(cells[0].transfer, 10);
    assert_exactly(cells[0].exposed, 10);
    assert_exactly(cells[0].phase[SPAN_BACKWARD], 22);
    assert_exactly(cells[1].hidden, 10);
    assert_exactly(cells[1].transfer, 6);
    assert_exactly(cells[1].caused, 4);
    /* Pieces 10, 10 and 5 (6 on rank 1), the sum needs 30 - 14 = 16 from its start: max(20, 10 + 16) + 5. */
    assert_exactly(timeline_what_if(&line), 31);
}

static void entered_early_without_progress_only_exposed_is_known(void **state)
{
    (void)state;
    struct span spans[6];
    struct timeline line = started_line(spans, true, false);
    struct cell cells[2];
    assert_int_equal(timeline_split(&line, cells), 0);
    assert_true(isnan(cells[0].wait) && isnan(cells[0].transfer)); /* entered at 20, the last started at 22 */
    assert_exactly(cells[0].exposed, 10);
    assert_exactly(cells[1].wait, 0);
    assert_exactly(cells[1].transfer, 6);

    line = started_line(spans, true, true);
    assert_int_equal(timeline_split(&line, cells), 0);
    assert_exactly(cells[0].wait, 2);
    assert_exactly(cells[0].transfer, 8);
}

static void a_sum_waited_for_in_a_later_phase_is_exposed_there(void **state)
{
    (void)state;
    struct span spans[] = { phase(SPAN_BACKWARD, 0, 0, 10), sum(0, 0, 4, 12, 15), phase(SPAN_HOST, 0, 10, 20),
                            phase(SPAN_BACKWARD, 0, 0, 10), sum(0, 0, 4, 11, 15), phase(SPAN_HOST, 0, 10, 20) };
    struct timeline line = { .ranks = 2, .steps = 1, .count = 3, .spans = spans };
    struct cell cells[2];
    assert_int_equal(timeline_split(&line, cells), 0);
    assert_exactly(cells[0].phase[SPAN_BACKWARD], 10);
    assert_exactly(cells[0].phase[SPAN_HOST], 7);
    assert_exactly(cells[1].phase[SPAN_HOST], 6);
}

static void ranks_may_differ_in_phases_but_not_in_collectives(void **state)
{
    (void)state;
    struct span spans[] = {
        phase(SPAN_DATA, 0, 0, 3), phase(SPAN_HOST, 0, 3, 9), sum(0, 0, 5, 5, 6),
        phase(SPAN_DATA, 0, 0, 9), sum(0, 0, 2, 2, 6),        { .step = -1 },
    };
    struct timeline line = { .ranks = 2, .steps = 1, .count = 3, .spans = spans };
    struct cell cells[2];
    assert_int_equal(timeline_split(&line, cells), 0);
    assert_exactly(cells[1].wait, 3);
    spans[4].bytes = 16;
    assert_true(timeline_split(&line, cells) > 0);
    spans[4].bytes = 8;
    spans[4].step = 1;
    assert_true(timeline_split(&line, cells) > 0);
    assert_true(isnan(timeline_what_if(&line)));
    spans[4] = (struct span){ .step = -1 }; /* rank 1 skipped the collective */
    assert_true(timeline_split(&line, cells) > 0);
}

static void leaving_before_the_last_came_is_wrong(void **state)
{
    (void)state;
    struct span spans[] = { phase(SPAN_DATA, 0, 0, 20), sum(0, 0, 10, 10, 15), phase(SPAN_DATA, 0, 0, 20),
                            sum(0, 0, 16, 16, 18) };
    struct timeline line = { .ranks = 2, .steps = 1, .count = 2, .spans = spans };
    struct cell cells[2];
    assert_int_equal(timeline_split(&line, cells), 1);
    line.clock_error = 1; /* two hosts' clocks may disagree by as much */
    assert_int_equal(timeline_split(&line, cells), 0);
    assert_exactly(cells[0].wait, 5); /* min(l, L) - e */
    assert_exactly(cells[0].transfer, 0);
}

static void one_rank_waits_for_nobody(void **state)
{
    (void)state;
    struct span spans[] = { phase(SPAN_BACKWARD, 0, 0, 20), sum(0, 0, 10, 10, 12) };
    struct timeline line = { .ranks = 1, .steps = 1, .count = 2, .spans = spans };
    struct cell cell;
    assert_int_equal(timeline_split(&line, &cell), 0);
    assert_exactly(cell.wait, 0);
    assert_exactly(cell.transfer, 2);
    assert_exactly(cell.caused, 0);
    assert_exactly(timeline_what_if(&line), 20);
}

static void stretches_cover_each_lane_without_gaps(void **state)
{
    (void)state;
    struct stretch stretches[64];
    int count = timeline_stretches(&straggler_line, 0, stretches, 64);
    double reached[3] = { 0 }, waited[3] = { 0 }, late[3] = { 0 };
    for (int i = 0; i < count; i++) {
        const struct stretch *s = &stretches[i];
        assert_int_equal(s->lane, 0);
        assert_exactly(s->start, reached[s->rank]);
        reached[s->rank] = s->end;
        waited[s->rank] += s->kind == STRETCH_WAIT ? s->end - s->start : 0;
        late[s->rank] += s->late;
    }
    assert_exactly(reached[0], 80);
    assert_exactly(reached[1], 79);
    assert_exactly(waited[1], 39);
    assert_exactly(late[0], 70 - 33);
    assert_exactly(late[1] + late[2], 0);
}

static void the_recorder_leaves_no_gap(void **state)
{
    (void)state;
    struct spans spans;
    spans_open(&spans, 8);
    spans_restart(&spans, 2, 5);
    spans.step = 1;
    spans_phase(&spans, SPAN_DATA, 10);
    spans_phase(&spans, SPAN_FORWARD, 12);
    struct span *meeting = spans_collective(&spans, SPAN_ALL_REDUCE, 7, 64);
    meeting->start = meeting->entered = 13;
    meeting->end = 14;
    spans_end(&spans, 15);
    assert_int_equal(spans.count, 3);
    assert_exactly(spans.at[0].end, spans.at[1].start);
    assert_exactly(spans.at[1].end, 15);
    assert_int_equal(spans.at[2].sequence, 7);
    assert_int_equal(spans.at[2].round, 2);
    assert_int_equal(spans.at[2].variant, 5);
    assert_int_equal(spans.at[2].step, 1);
    assert_null(spans_collective(NULL, SPAN_ALL_REDUCE, 0, 0));
    spans_close(&spans);
}

/* Six rounds of one step each, in which `late`, and once more, comes last by so much. */
static struct tally tally_of(const int late[3], double by)
{
    struct tally tally;
    tally_open(&tally, &(struct run){ .ranks = 3, .sync_every = 1 });
    for (int round = 0; round < 6; round++) {
        struct span spans[3 * 2];
        for (int rank = 0; rank < 3; rank++) {
            double start = 10 + (rank == late[round % 3] ? by : 0);
            spans[2 * rank] = phase(SPAN_BACKWARD, 0, 0, 14 + by);
            spans[2 * rank + 1] = sum(0, round, start, start, 12 + by);
        }
        tally_add(&tally, &(struct timeline){ .ranks = 3, .steps = 1, .count = 2, .spans = spans });
    }
    return tally;
}

static void only_a_steady_culprit_is_named(void **state)
{
    (void)state;
    struct tally baseline = tally_of((int[]){ 0, 1, 2 }, 1);
    struct tally steady = tally_of((int[]){ 2, 2, 2 }, 40);
    struct tally roaming = tally_of((int[]){ 2, 0, 1 }, 40);
    struct summary s = tally_summarise(&steady, &baseline);
    assert_int_equal(s.blamed_rank, 2);
    assert_exactly(s.blamed_wait, 80);
    assert_int_equal(tally_summarise(&roaming, &baseline).blamed_rank, -1);
    assert_int_equal(tally_summarise(&baseline, &baseline).blamed_rank, -1);

    assert_exactly(s.slowest_step, 54);
    assert_exactly(s.step, s.data + s.local + s.host + s.wait + s.transfer);
    assert_true(fabs(s.vs_baseline.value - 54.0 / 15) < 1e-12);
    assert_true(fabs(s.vs_baseline.low - s.vs_baseline.high) < 1e-12); /* the rounds agree */
    assert_int_equal(steady.wrong, 0);
    tally_close(&baseline);
    tally_close(&steady);
    tally_close(&roaming);
}

/* Then what is less than the baseline has is named too; what roams is not. */
static void without_a_baseline_nothing_is_compared(void **state)
{
    (void)state;
    struct tally baseline = tally_of((int[]){ 0, 1, 2 }, 2);
    struct tally little = tally_of((int[]){ 1, 1, 1 }, 1);
    assert_int_equal(tally_summarise(&little, &baseline).blamed_rank, -1);
    struct summary s = tally_summarise(&little, NULL);
    assert_int_equal(s.blamed_rank, 1);
    assert_exactly(s.blamed_wait, 2);
    assert_true(isnan(s.vs_baseline.value));
    assert_int_equal(s.numerics, NUMERICS_UNKNOWN);
    assert_int_equal(tally_summarise(&baseline, NULL).blamed_rank, -1);
    tally_close(&baseline);
    tally_close(&little);
}

/* Two meetings prove nothing, and three quarters of the waiting can be one rank's by luck. */
static void luck_names_nobody(void **state)
{
    (void)state;
    struct tally baseline = tally_of((int[]){ 0, 1, 2 }, 1), tally;
    for (int rounds = 1; rounds <= 4; rounds++) {
        tally_open(&tally, &(struct run){ .ranks = 3, .sync_every = 1 });
        for (int round = 0; round < rounds; round++) {
            struct span spans[6];
            for (int rank = 0; rank < 3; rank++) {
                spans[2 * rank] = phase(SPAN_BACKWARD, 0, 0, 60);
                spans[2 * rank + 1] = sum(0, round, rank == 1 ? 50 : 10, rank == 1 ? 50 : 10, 52);
            }
            tally_add(&tally, &(struct timeline){ .ranks = 3, .steps = 1, .count = 2, .spans = spans });
        }
        /* 3 x (1/3)^rounds is below 5 % from four on */
        assert_int_equal(tally_summarise(&tally, &baseline).blamed_rank, rounds >= 4 ? 1 : -1);
        tally_close(&tally);
    }
    tally_close(&baseline);
}

/* Meeting every second step: the ranks' windows are as long as one another, whatever their single steps are. */
static void windows_are_compared_not_steps(void **state)
{
    (void)state;
    struct tally tally;
    tally_open(&tally, &(struct run){ .ranks = 2, .sync_every = 2 });
    struct span spans[] = {
        phase(SPAN_DATA, 0, 0, 30), phase(SPAN_DATA, 1, 30, 40), sum(1, 0, 38, 38, 40),
        phase(SPAN_DATA, 0, 0, 10), phase(SPAN_DATA, 1, 10, 40), sum(1, 0, 20, 20, 40),
    };
    tally_add(&tally, &(struct timeline){ .ranks = 2, .steps = 2, .count = 3, .spans = spans });
    struct summary s = tally_summarise(&tally, &tally);
    assert_int_equal(tally.windows, 1);
    assert_exactly(s.median_step, 20);
    assert_exactly(s.p95_step, 20);
    assert_exactly(s.rank_skew, 0);
    assert_exactly(s.slowest_step, 20);
    tally_close(&tally);
}

static void losses_tell_what_changed(void **state)
{
    (void)state;
    struct tally baseline = tally_of((int[]){ 0, 0, 0 }, 1), other = tally_of((int[]){ 0, 0, 0 }, 1);
    for (int rank = 0; rank < 3; rank++) {
        baseline.loss[rank] = other.loss[rank] = 6.5 + rank;
        baseline.samples[rank] = other.samples[rank] = 128;
    }
    assert_int_equal(tally_summarise(&other, &baseline).numerics, NUMERICS_SAME);
    other.loss[1] = nextafter(other.loss[1], 9);
    assert_int_equal(tally_summarise(&other, &baseline).numerics, NUMERICS_REORDERED);
    other.loss[1] += 0.1;
    assert_int_equal(tally_summarise(&other, &baseline).numerics, NUMERICS_CHANGED);
    other.loss[1] = (double)NAN;
    assert_int_equal(tally_summarise(&other, &baseline).numerics, NUMERICS_CHANGED);
    tally_close(&baseline);
    tally_close(&other);
}

static void drifting_replicas_and_lost_numbers_are_wrong(void **state)
{
    (void)state;
    float replica[64] = { 1, 2, 3 };
    uint64_t hash = gather_hash(replica, 64);
    struct verdict verdicts[3];
    struct block block = { .timeline = { .ranks = 3 }, .verdicts = verdicts };
    for (int rank = 0; rank < 3; rank++)
        verdicts[rank] = (struct verdict){ .loss = 6.9, .hash = hash };
    assert_int_equal(gather_wrong(&block), 0);
    replica[63] = nextafterf(replica[63], 1); /* the last bit of the last parameter */
    verdicts[2].hash = gather_hash(replica, 64);
    assert_int_equal(gather_wrong(&block), 1);
    verdicts[1].loss = (double)NAN;
    verdicts[1].wrong = 2;
    assert_int_equal(gather_wrong(&block), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_straggler_is_split_and_blamed),
        cmocka_unit_test(two_that_come_last_together_cause_nothing),
        cmocka_unit_test(what_if_takes_the_median_rank),
        cmocka_unit_test(warm_up_is_left_out),
        cmocka_unit_test(a_started_sum_is_hidden_and_exposed),
        cmocka_unit_test(entered_early_without_progress_only_exposed_is_known),
        cmocka_unit_test(a_sum_waited_for_in_a_later_phase_is_exposed_there),
        cmocka_unit_test(ranks_may_differ_in_phases_but_not_in_collectives),
        cmocka_unit_test(leaving_before_the_last_came_is_wrong),
        cmocka_unit_test(one_rank_waits_for_nobody),
        cmocka_unit_test(stretches_cover_each_lane_without_gaps),
        cmocka_unit_test(the_recorder_leaves_no_gap),
        cmocka_unit_test(only_a_steady_culprit_is_named),
        cmocka_unit_test(without_a_baseline_nothing_is_compared),
        cmocka_unit_test(luck_names_nobody),
        cmocka_unit_test(windows_are_compared_not_steps),
        cmocka_unit_test(losses_tell_what_changed),
        cmocka_unit_test(drifting_replicas_and_lost_numbers_are_wrong),
    };
    return cmocka_run_group_tests_name("timeline", tests, NULL, NULL);
}
