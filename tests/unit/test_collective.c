/* test_collective.c: test collectives on real ranks under mpirun, for any engine and device. Deliberately wrong sums
 * (sabotage.h) test that the checks can fail. */
#include "base/bf16.h"
#include "base/memory.h"
#include "collective/collective.h"
#include "collective/spans.h"
#include "device/device.h"
#include "support/sabotage.h"
#include "world/world.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { COUNT = SABOTAGED };

static struct world *world;

static float value_of(int rank, int i)
{
    return (float)((rank + 1) * (i % 97 - 48)); /* whole numbers: sums are exact in any order */
}

static float sum_of(int i)
{
    int ranks = world_size(world);
    return (float)(ranks * (ranks + 1) / 2 * (i % 97 - 48));
}

/* Arrays in device memory. */
struct buffers {
    float *send, *receive; /* (COUNT) */
};

static void put(float *out, float (*value)(int i))
{
    float *values = memory_new(COUNT, sizeof *values);
    for (int i = 0; i < COUNT; i++)
        values[i] = value(i);
    device_put(out, values, COUNT * sizeof *values);
    free(values);
}

static float my_value(int i)
{
    return value_of(world_rank(world), i);
}

static float poison(int i)
{
    (void)i;
    return -1e30f; /* a value that no sum has, to detect elements that are never written */
}

static struct buffers fill(void)
{
    struct buffers b = { device_new(COUNT, sizeof(float)), device_new(COUNT, sizeof(float)) };
    put(b.send, my_value);
    put(b.receive, poison);
    return b;
}

static void drop(struct buffers *b)
{
    device_free(b->send);
    device_free(b->receive);
}

static void assert_values(const float *memory, float (*value)(int i))
{
    float *values = memory_new(COUNT, sizeof *values);
    device_fetch(values, memory, COUNT * sizeof *values);
    for (int i = 0; i < COUNT; i++) {
        float expected = value(i);
        assert_memory_equal(&values[i], &expected, sizeof expected);
    }
    free(values);
}

static void assert_sums(const struct buffers *b)
{
    assert_values(b->receive, sum_of);
    assert_values(b->send, my_value); /* the input is unchanged */
}

static void a_sum_adds_all_ranks_and_stamps_itself(void **state)
{
    (void)state;
    struct spans spans;
    spans_open(&spans, 4);
    struct collective *c = collective_open(world, &spans);
    struct buffers b = fill();
    spans_restart(&spans, 0, 0); /* just before the measurement, since a GPU's clock drifts from the world's */
    double before = world_now();
    collective_run(c, all_reduce(TYPE_F32, b.send, b.receive, COUNT));
    device_wait();
    double after = world_now();
    assert_sums(&b);
    collective_run(c, barrier());
    spans_resolve(&spans);
    assert_int_equal(spans.count, 2);
    const struct span *s = &spans.at[0];
    double error = device_clock_error() + 20e-6; /* resolution of a GPU's clock */
    assert_true(before - error <= s->start && s->start <= s->entered && s->entered <= s->end &&
                s->end <= after + error);
    assert_int_equal(s->kind, SPAN_ALL_REDUCE);
    assert_int_equal(s->bytes, COUNT * sizeof(float));
    assert_int_equal(s->sequence, 0);
    assert_int_equal(spans.at[1].kind, SPAN_BARRIER);
    assert_int_equal(spans.at[1].sequence, 1);
    drop(&b);
    collective_close(c);
    spans_close(&spans);
}

static void a_started_sum_is_there_when_finished(void **state)
{
    (void)state;
    enum { BUCKETS = 5, EACH = COUNT / BUCKETS };
    struct spans spans;
    spans_open(&spans, BUCKETS + 1);
    spans_restart(&spans, 0, 0);
    struct collective *c = collective_open(world, &spans);
    struct buffers b = fill();
    int ticket[BUCKETS];
    for (int i = 0; i < BUCKETS; i++)
        ticket[i] = collective_start(c, all_reduce(TYPE_F32, b.send + i * EACH, b.receive + i * EACH, EACH));
    collective_progress(c);
    for (int i = 0; i < BUCKETS; i++)
        collective_finish(c, ticket[i]);
    spans_resolve(&spans);
    assert_sums(&b);
    for (int i = 0; i < BUCKETS; i++) {
        assert_true(spans.at[i].start <= spans.at[i].entered && spans.at[i].entered <= spans.at[i].end);
        assert_true(spans.at[i].progressed);
        assert_int_equal(spans.at[i].sequence, i);
    }
    int again = collective_start(c, all_reduce(TYPE_F32, b.send, b.receive, 1));
    assert_int_equal(again, ticket[0]); /* a finished ticket is reused */
    collective_finish(c, again);
    drop(&b);
    collective_close(c);
    spans_close(&spans);
}

enum { HALVES = 4 };

/* Arrays of bf16 in device memory. */
struct halves {
    uint16_t *send, *receive; /* (HALVES) */
};

static struct halves put_halves(const uint16_t *values)
{
    static const uint16_t poison[HALVES] = { 0x7fc0, 0x7fc0, 0x7fc0, 0x7fc0 };
    struct halves h = { device_new(HALVES, sizeof *h.send), device_new(HALVES, sizeof *h.receive) };
    device_put(h.send, values, sizeof poison);
    device_put(h.receive, poison, sizeof poison);
    return h;
}

static void drop_halves(struct halves *h)
{
    device_free(h->send);
    device_free(h->receive);
}

static void bf16_halves_the_bytes_and_rounds(void **state)
{
    (void)state;
    struct spans spans;
    spans_open(&spans, 1);
    spans_restart(&spans, 0, 0);
    struct collective *c = collective_open(world, &spans);
    /* 1.0, -2.0, 256.0 and 1.0 in bf16; their sums need at most 8 bits */
    const uint16_t values[] = { 0x3f80, 0xc000, 0x4380, 0x3f80 };
    struct halves h = put_halves(values);
    collective_check(c, CHECK_EACH);
    collective_run(c, all_reduce(TYPE_BF16, h.send, h.receive, HALVES));
    assert_int_equal(collective_wrong(c).count, 0);
    uint16_t sums[HALVES];
    device_fetch(sums, h.receive, sizeof sums);
    assert_true((double)bf16_widen(sums[0]) == world_size(world));
    assert_int_equal(spans.at[0].bytes, 8);
    drop_halves(&h);
    collective_close(c);
    spans_close(&spans);
}

static void a_wrong_sum_is_noticed(void **state)
{
    (void)state;
    struct collective *c = collective_open(world, NULL);
    struct buffers b = fill();
    collective_check(c, CHECK_EACH);
    collective_run(c, all_reduce(TYPE_F32, b.send, b.receive, COUNT));
    assert_int_equal(collective_wrong(c).count, 0);
    for (sabotage = FLIPPED; sabotage <= LOST; sabotage++) {
        collective_run(c, all_reduce(TYPE_F32, b.send, b.receive, COUNT));
        assert_int_equal(collective_wrong(c).count, 1);
        assert_int_equal(collective_wrong(c).count, 0); /* reported once */
    }
    sabotage = HONEST;
    device_fill(b.send, (float)NAN, COUNT); /* NaN fails every comparison, on any rank */
    collective_run(c, all_reduce(TYPE_F32, b.send, b.receive, COUNT));
    assert_int_equal(collective_wrong(c).count, 1);
    drop(&b);
    collective_close(c);
}

/* Check that sampled checks reach every element: of a sum of this length, each check covers every other element, in turns. */
static void every_element_has_its_turn(void **state)
{
    (void)state;
    struct collective *c = collective_open(world, NULL);
    struct buffers b = fill();
    sabotage = STUCK;
    for (int turns = 0; turns < 3; turns++) {
        int wrong = 0;
        for (int turn = 0; turn < 2; turn++) {
            collective_run(c, all_reduce(TYPE_F32, b.send, b.receive, COUNT));
            collective_check_last(c);
            collective_check_last(c); /* already checked: no effect */
            struct check_failures failures = collective_wrong(c);
            wrong += failures.count;
            assert_true(failures.count == 0 || strstr(failures.first, "element 1234 of 5000"));
        }
        assert_int_equal(wrong, 1);
    }
    sabotage = HONEST;
    drop(&b);
    collective_close(c);
}

/* Start two sums of which one is wrong. The check at the end of a sum must count the wrong one, once. */
static void a_wrong_started_sum_is_noticed(void **state)
{
    (void)state;
    struct collective *c = collective_open(world, NULL);
    struct buffers b = fill(), other = fill();
    for (int checking = 0; checking <= 1; checking++)
        for (sabotage = HONEST; sabotage <= LOST; sabotage++) {
            collective_check(c, checking ? CHECK_EACH : CHECK_NOTHING);
            int whole = collective_start(c, all_reduce(TYPE_F32, b.send, b.receive, COUNT));
            int part = collective_start(c, all_reduce(TYPE_F32, other.send, other.receive, COUNT / 2)); /* not sabotaged */
            collective_progress(c);
            collective_finish(c, whole);
            collective_finish(c, part);
            assert_int_equal(collective_wrong(c).count, checking && sabotage != HONEST);
        }
    sabotage = HONEST;
    drop(&b);
    drop(&other);
    collective_close(c);
}

static void started_bf16_sums_round_each_partial_sum(void **state)
{
    (void)state;
    struct spans spans;
    spans_open(&spans, 3);
    spans_restart(&spans, 0, 0);
    struct collective *c = collective_open(world, &spans);
    collective_check(c, CHECK_EACH);
    /* 1, -2 and 256; then 256 on rank 0 and 1 on the others. The 1 is half of the last place of 256 and may vanish. */
    uint16_t small = world_rank(world) == 0 ? 0x4380 : 0x3f80;
    const uint16_t values[] = { 0x3f80, 0xc000, 0x4380, small };
    struct halves h = put_halves(values), blocking = put_halves(values);
    int first = collective_start(c, all_reduce(TYPE_BF16, h.send, h.receive, 2));
    int second = collective_start(c, all_reduce(TYPE_BF16, h.send + 2, h.receive + 2, 2));
    collective_finish(c, first);
    collective_finish(c, second);
    assert_int_equal(collective_wrong(c).count, 0);
    uint16_t receive[HALVES], again[HALVES];
    device_fetch(receive, h.receive, sizeof receive);
    int ranks = world_size(world);
    const double exact[] = { ranks, -2 * ranks, 256 * ranks };
    for (int i = 0; i < 3; i++)
        assert_true((double)bf16_widen(receive[i]) == exact[i]);
    double sum = 256 + ranks - 1, got = (double)bf16_widen(receive[3]);
    assert_true(got >= 256 && fabs(got - sum) <= (ranks - 1) * ldexp(sum, -8)); /* one rounding per addition */
    assert_int_equal(spans.at[0].bytes, 4);
    collective_run(c, all_reduce(TYPE_BF16, blocking.send, blocking.receive, 2));
    device_fetch(again, blocking.receive, sizeof again);
    assert_memory_equal(again, receive, 4); /* same result as a blocking sum */
    drop_halves(&h);
    drop_halves(&blocking);
    collective_close(c);
    spans_close(&spans);
}

/* --- in place ---------------------------------------------------------------------------------------------------- */

/* Set the terms and sum them in place, blocking or nonblocking. */
static void sum_in_place(struct collective *c, float *terms, bool is_started)
{
    put(terms, my_value);
    if (is_started) {
        int first = collective_start(c, all_reduce(TYPE_F32, terms, terms, SABOTAGED));
        collective_progress(c);
        collective_finish(c, first);
    } else {
        collective_run(c, all_reduce(TYPE_F32, terms, terms, COUNT));
    }
}

static void a_sum_may_take_the_place_of_its_terms(void **state)
{
    (void)state;
    struct collective *c = collective_open(world, NULL);
    float *terms = device_new(COUNT, sizeof *terms);
    for (enum check check = CHECK_NOTHING; check <= CHECK_KEPT; check++)
        for (int is_started = 0; is_started <= 1; is_started++) {
            collective_check(c, check);
            sum_in_place(c, terms, is_started);
            assert_values(terms, sum_of);
            assert_int_equal(collective_wrong(c).count, 0);
        }
    const uint16_t values[] = { 0x3f80, 0xc000, 0x4380, 0x3f80 };
    struct halves h = put_halves(values);
    collective_check(c, CHECK_EACH);
    collective_run(c, all_reduce(TYPE_BF16, h.send, h.send, HALVES));
    assert_int_equal(collective_wrong(c).count, 0);
    uint16_t sums[HALVES];
    device_fetch(sums, h.send, sizeof sums);
    assert_true((double)bf16_widen(sums[1]) == -2 * world_size(world));
    drop_halves(&h);
    device_free(terms);
    collective_close(c);
}

/* Sum an array so long that an engine may split it, into pieces of which no two are equal. */
static void a_long_sum_is_whole(void **state)
{
    (void)state;
    enum { LONG = (5 << 20) / sizeof(float) + 12347 };
    struct collective *c = collective_open(world, NULL);
    float *send = device_new(LONG, sizeof *send), *receive = device_new(LONG, sizeof *receive);
    float *values = memory_new(LONG, sizeof *values);
    collective_check(c, CHECK_EACH);
    for (int in_place = 0; in_place <= 1; in_place++) {
        for (int i = 0; i < LONG; i++)
            values[i] = my_value(i % COUNT);
        device_put(send, values, LONG * sizeof *values);
        collective_run(c, all_reduce(TYPE_F32, send, in_place ? send : receive, LONG));
        device_fetch(values, in_place ? send : receive, LONG * sizeof *values);
        int wrong = 0;
        for (int i = 0; i < LONG; i++)
            wrong += !(fabsf(values[i] - sum_of(i % COUNT)) <= 0);
        assert_int_equal(wrong, 0);
    }
    assert_int_equal(collective_wrong(c).count, 0);
    free(values);
    device_free(send);
    device_free(receive);
    collective_close(c);
}

/* Sabotage a sum in place that is checked at once, or whose terms are kept and checked at the end. */
static void a_wrong_sum_in_place_is_noticed(void **state)
{
    (void)state;
    struct collective *c = collective_open(world, NULL);
    float *terms = device_new(COUNT, sizeof *terms);
    for (enum check check = CHECK_EACH; check <= CHECK_KEPT; check++)
        for (int is_started = 0; is_started <= 1; is_started++)
            for (sabotage = HONEST; sabotage <= LOST; sabotage++) {
                collective_check(c, check);
                sum_in_place(c, terms, is_started);
                collective_check_last(c);
                assert_int_equal(collective_wrong(c).count, sabotage != HONEST);
            }
    sabotage = HONEST;
    device_free(terms);
    collective_close(c);
}

static void every_element_in_place_has_its_turn(void **state)
{
    (void)state;
    struct collective *c = collective_open(world, NULL);
    float *terms = device_new(COUNT, sizeof *terms);
    sabotage = STUCK;
    for (int turns = 0; turns < 3; turns++) {
        int wrong = 0;
        for (int turn = 0; turn < 2; turn++) {
            collective_check(c, CHECK_KEPT);
            sum_in_place(c, terms, turns == 1);
            collective_check_last(c);
            wrong += collective_wrong(c).count;
        }
        assert_int_equal(wrong, 1);
    }
    sabotage = HONEST;
    device_free(terms);
    collective_close(c);
}

/* Check that a sum whose terms were not kept counts as wrong. */
static void a_sum_whose_terms_are_gone_is_wrong(void **state)
{
    (void)state;
    struct collective *c = collective_open(world, NULL);
    float *terms = device_new(COUNT, sizeof *terms);
    collective_check(c, CHECK_KEPT);
    sum_in_place(c, terms, false);
    collective_check(c, CHECK_NOTHING);
    sum_in_place(c, terms, false);
    collective_check_last(c);
    struct check_failures failures = collective_wrong(c);
    assert_int_equal(failures.count, 1);
    assert_non_null(strstr(failures.first, "the check has no copy of the terms"));
    device_free(terms);
    collective_close(c);
}

static void parked_ranks_come_back(void **state)
{
    (void)state;
    int size = world_size(world);
    struct world *part = world_first(world, size - 1);
    assert_true((part != NULL) == (world_rank(world) < size - 1));
    if (part) {
        assert_int_equal(world_size(part), size - 1);
        int mine = 1 << world_rank(part), all[64] = { 0 };
        world_gather(part, &mine, sizeof mine, all);
        for (int rank = 0; world_rank(part) == 0 && rank < size - 1; rank++)
            assert_int_equal(all[rank], 1 << rank);
        world_leave(part);
    }
    world_park(world);
    int value = world_rank(world) == 0 ? 42 : 0;
    world_broadcast(world, &value, sizeof value);
    assert_int_equal(value, 42);
}

static void sleeping_and_working_take_their_time(void **state)
{
    (void)state;
    double begin = world_now();
    world_sleep(0.02);
    assert_true(world_now() - begin >= 0.02);
    begin = world_now();
    world_burn_cpu(0.02);
    assert_true(world_now() - begin >= 0.0199); /* wall time is at least the CPU time */
}

int main(void)
{
    world = world_open(60);
    if (device_gpus() == 0 && strcmp(device_name(), "cuda") == 0) {
        world_close(world);
        puts("built with CUDA, no usable device");
        return 77;
    }
    device_open(world_rank(world), PRECISION_FP32);
    if (device_gpus() > 0)
        world_trains_on(world, device_gpus());
    collective_begin(world, true, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sum_adds_all_ranks_and_stamps_itself),
        cmocka_unit_test(a_started_sum_is_there_when_finished),
        cmocka_unit_test(bf16_halves_the_bytes_and_rounds),
        cmocka_unit_test(a_wrong_sum_is_noticed),
        cmocka_unit_test(every_element_has_its_turn),
        cmocka_unit_test(a_wrong_started_sum_is_noticed),
        cmocka_unit_test(started_bf16_sums_round_each_partial_sum),
        cmocka_unit_test(a_sum_may_take_the_place_of_its_terms),
        cmocka_unit_test(a_long_sum_is_whole),
        cmocka_unit_test(a_wrong_sum_in_place_is_noticed),
        cmocka_unit_test(every_element_in_place_has_its_turn),
        cmocka_unit_test(a_sum_whose_terms_are_gone_is_wrong),
        cmocka_unit_test(parked_ranks_come_back),
        cmocka_unit_test(sleeping_and_working_take_their_time),
    };
    int failed = cmocka_run_group_tests_name("collective", tests, NULL, NULL);
    device_close();
    world_close(world);
    return failed;
}
