/* test_collective.c: test collectives on real ranks under mpirun, for any engine and device. Deliberately wrong results
 * (sabotage.h) test that the checks can fail. */
#include "base/bf16.h"
#include "base/memory.h"
#include "collective/collective.h"
#include "collective/spans.h"
#include "device/device.h"
#include "support/known_op.h"
#include "support/on_ranks.h"
#include "support/sabotage.h"
#include "support/unit.h"
#include "world/world.h"

#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = SABOTAGED };

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
    struct buffers b = { device_new(MEMORY_DATA, COUNT, sizeof(float)), device_new(MEMORY_DATA, COUNT, sizeof(float)) };
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

TEST(a_sum_adds_all_ranks_and_stamps_itself)
{
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

TEST(a_started_sum_is_there_when_finished)
{
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
    struct halves h = { device_new(MEMORY_DATA, HALVES, sizeof *h.send),
                        device_new(MEMORY_DATA, HALVES, sizeof *h.receive) };
    device_put(h.send, values, sizeof poison);
    device_put(h.receive, poison, sizeof poison);
    return h;
}

static void drop_halves(struct halves *h)
{
    device_free(h->send);
    device_free(h->receive);
}

TEST(bf16_halves_the_bytes_and_rounds)
{
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

TEST(a_wrong_sum_is_noticed)
{
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
TEST(every_element_has_its_turn)
{
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

/* Start two sums, one of them wrong. The check at the end of a sum must count the wrong one, once. */
TEST(a_wrong_started_sum_is_noticed)
{
    struct collective *c = collective_open(world, NULL);
    struct buffers b = fill(), other = fill();
    for (int checking = 0; checking <= 1; checking++)
        for (sabotage = HONEST; sabotage <= LOST; sabotage++) {
            collective_check(c, checking ? CHECK_EACH : CHECK_NOTHING);
            int whole = collective_start(c, all_reduce(TYPE_F32, b.send, b.receive, COUNT));
            int part =
                collective_start(c, all_reduce(TYPE_F32, other.send, other.receive, COUNT / 2)); /* not sabotaged */
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

TEST(started_bf16_sums_round_each_partial_sum)
{
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

TEST(a_sum_may_take_the_place_of_its_terms)
{
    struct collective *c = collective_open(world, NULL);
    float *terms = device_new(MEMORY_DATA, COUNT, sizeof *terms);
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

/* Sum an array that is long enough for an engine to split it, into pieces of different sizes. */
TEST(a_long_sum_is_whole)
{
    enum { LONG = (5 << 20) / sizeof(float) + 12347 };
    struct collective *c = collective_open(world, NULL);
    float *send = device_new(MEMORY_DATA, LONG, sizeof *send),
          *receive = device_new(MEMORY_DATA, LONG, sizeof *receive);
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
TEST(a_wrong_sum_in_place_is_noticed)
{
    struct collective *c = collective_open(world, NULL);
    float *terms = device_new(MEMORY_DATA, COUNT, sizeof *terms);
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

TEST(every_element_in_place_has_its_turn)
{
    struct collective *c = collective_open(world, NULL);
    float *terms = device_new(MEMORY_DATA, COUNT, sizeof *terms);
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
TEST(a_sum_whose_terms_are_gone_is_wrong)
{
    struct collective *c = collective_open(world, NULL);
    float *terms = device_new(MEMORY_DATA, COUNT, sizeof *terms);
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

/* --- all kinds ---------------------------------------------------------------------------------------------------- */

static struct known_op_members all_ranks(void)
{
    struct known_op_members m = { .rank = world_rank(world), .ranks = world_size(world) };
    for (int rank = 0; rank < m.ranks; rank++)
        m.world_rank[rank] = rank;
    return m;
}

/* Run operations of all kinds in a group, blocking and started, in place and not, and check them at once or at the end. */
static void run_known_ops(struct collective *c, const struct group *group, const struct known_op_members *m,
                          enum element_type type, size_t elements)
{
    struct collective_op ops[KNOWN_OPS];
    int count = known_op_list(ops, m, type, elements);
    int seed = (int)elements + 500 * (int)type; /* differs between operations, so that no earlier result is right */
    for (int i = 0; i < count; i++)
        for (int way = 0; way < 8; way++) {
            bool is_started = way & 1, in_place = way & 2;
            if (in_place && !known_op_can_be_in_place(&ops[i]))
                continue;
            struct known_op t = known_op_open(in_group(group, ops[i]), m, seed++, in_place);
            collective_check(c, way & 4 ? CHECK_EACH : CHECK_KEPT);
            known_op_run(&t, c, is_started);
            collective_check_last(c);
            long wrong = known_op_wrong(&t);
            if (wrong >= 0)
                fail_msg("rank %d of %d: operation %d of %zu elements, way %d: element %ld of %zu is wrong", m->rank,
                         m->ranks, i, ops[i].count, way, wrong, t.elements);
            struct check_failures failures = collective_wrong(c);
            if (failures.count != 0)
                fail_msg("rank %d of %d: %s", m->rank, m->ranks, failures.first);
            known_op_close(&t);
        }
}

TEST(every_kind_gives_exact_results)
{
    static const size_t counts[] = { 1, 1000, 33000 }; /* 258 KiB of two ranks are long for Open MPI */
    struct collective *c = collective_open(world, NULL);
    struct known_op_members m = all_ranks();
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (enum element_type type = TYPE_F32; type <= TYPE_BF16; type++)
            run_known_ops(c, NULL, &m, type, counts[i]);
    collective_close(c);
}

/* Return the failed checks of an operation on this rank. */
static int failures_of(struct collective *c, struct collective_op op, int seed, bool in_place, bool is_started)
{
    struct known_op_members m = all_ranks();
    struct known_op t = known_op_open(op, &m, seed, in_place);
    known_op_run(&t, c, is_started);
    collective_check_last(c);
    known_op_close(&t);
    return collective_wrong(c).count;
}

/* Sabotage operations of every kind. Ranks that receive nothing have nothing wrong. A single wrong element is found when it is its
 * turn, at the latest in the second cycle of samples. */
TEST(a_wrong_result_of_any_kind_is_noticed)
{
    struct collective *c = collective_open(world, NULL);
    struct known_op_members m = all_ranks();
    struct collective_op ops[KNOWN_OPS];
    int count = known_op_list(ops, &m, TYPE_F32, SABOTAGED) - 1, turns = 2 * (m.ranks + 1),
        seed = 0; /* all but the barrier */
    for (int i = 0; i < count; i++)
        for (int way = 0; way < 8; way++) {
            bool is_started = way & 1, in_place = way & 2;
            if (in_place && !known_op_can_be_in_place(&ops[i]))
                continue;
            bool receives =
                ops[i].kind == BROADCAST ? ops[i].from != m.rank : ops[i].kind != SEND_RECEIVE || ops[i].from >= 0;
            collective_check(c, way & 4 ? CHECK_EACH : CHECK_KEPT);
            for (sabotage = HONEST; sabotage <= LOST; sabotage++) {
                int failures = failures_of(c, ops[i], seed++, in_place, is_started);
                if (failures != (receives && sabotage != HONEST))
                    fail_msg("operation %d, way %d, sabotage %d: %d failures", i, way, (int)sabotage, failures);
            }
            int found = 0;
            for (int turn = 0; turn < turns; turn++)
                found += failures_of(c, ops[i], seed++, in_place, is_started);
            if ((found > 0) != receives)
                fail_msg("operation %d, way %d: %d failures for one wrong element in %d turns", i, way, found, turns);
        }
    sabotage = HONEST;
    collective_close(c);
}

/* --- groups ------------------------------------------------------------------------------------------------------- */

/* Groups of this rank: ranks of the same parity; pairs of neighbours (the last rank may be alone); all ranks in reverse. */
enum { PARITY, PAIR, REVERSE, GROUPS };

struct groups {
    const struct group *group[GROUPS];
    struct known_op_members members[GROUPS];
    int number[GROUPS]; /* as spans record it */
};

static struct groups split(struct collective *c)
{
    struct groups g = { 0 };
    int rank = world_rank(world), ranks = world_size(world);
    const int color[GROUPS] = { rank % 2, rank / 2, 7 }, key[GROUPS] = { rank, 0, -rank };
    const int groups_before[GROUPS] = { 0, 2, 2 + (ranks + 1) / 2 };
    for (int i = 0; i < GROUPS; i++) {
        g.group[i] = collective_split(c, color[i], key[i]);
        g.number[i] = 1 + groups_before[i] + (i == REVERSE ? 0 : color[i]);
        struct known_op_members *m = &g.members[i];
        for (int k = 0; k < ranks; k++) {
            int other = i == REVERSE ? ranks - 1 - k : k;
            bool is_member = i == PARITY ? other % 2 == rank % 2 : i == REVERSE || other / 2 == rank / 2;
            if (other == rank)
                m->rank = m->ranks;
            if (is_member)
                m->world_rank[m->ranks++] = other;
        }
        assert_int_equal(group_rank(g.group[i]), m->rank);
        assert_int_equal(group_size(g.group[i]), m->ranks);
    }
    return g;
}

TEST(groups_work_for_themselves)
{
    struct collective *c = collective_open(world, NULL);
    assert_null(collective_split(c, -1, 0));
    struct groups g = split(c);
    for (int i = 0; i < GROUPS; i++)
        for (enum element_type type = TYPE_F32; type <= TYPE_BF16; type++)
            run_known_ops(c, g.group[i], &g.members[i], type, 1000 + 10 * (size_t)i);
    /* only some ranks are in the last group, and only they use it */
    bool is_in = world_rank(world) < world_size(world) - 1;
    const struct group *first = collective_split(c, is_in ? 0 : -1, 0);
    assert_int_equal(first != NULL, is_in);
    if (is_in) {
        struct known_op_members m = all_ranks();
        m.ranks--;
        run_known_ops(c, first, &m, TYPE_F32, 1000);
    }
    collective_close(c);
}

/* Start all kinds in all groups before any is finished, and finish them in this or the reverse order. */
TEST(groups_work_at_the_same_time)
{
    struct collective *c = collective_open(world, NULL);
    struct groups g = split(c);
    struct known_op t[GROUPS * KNOWN_OPS];
    int ticket[GROUPS * KNOWN_OPS];
    for (int reverse = 0; reverse <= 1; reverse++) {
        int started = 0;
        for (int i = 0; i < GROUPS; i++) {
            struct collective_op ops[KNOWN_OPS];
            int count = known_op_list(ops, &g.members[i], TYPE_F32, 3000);
            for (int k = 0; k < count; k++, started++)
                t[started] = known_op_open(in_group(g.group[i], ops[k]), &g.members[i], 100 * i + k + reverse, false);
        }
        for (int k = 0; k < started; k++)
            ticket[k] = collective_start(c, t[k].op);
        collective_progress(c);
        for (int k = 0; k < started; k++)
            collective_finish(c, ticket[reverse ? started - 1 - k : k]);
        for (int k = 0; k < started; k++) {
            assert_int_equal(known_op_wrong(&t[k]), -1);
            known_op_close(&t[k]);
        }
    }
    collective_close(c);
}

TEST(spans_tell_groups_apart)
{
    enum { COUNT_EACH = 10, BYTES = COUNT_EACH * 2 };
    struct spans spans;
    spans_open(&spans, GROUPS * KNOWN_OPS);
    spans_restart(&spans, 0, 0);
    struct collective *c = collective_open(world, &spans);
    struct groups g = split(c);
    for (int i = 0; i < GROUPS; i++) {
        const struct known_op_members *m = &g.members[i];
        struct collective_op ops[KNOWN_OPS];
        int count = known_op_list(ops, m, TYPE_BF16, COUNT_EACH), first = spans.count;
        for (int k = 0; k < count; k++) {
            struct known_op t = known_op_open(in_group(g.group[i], ops[k]), m, k, false);
            known_op_run(&t, c, k % 2);
            known_op_close(&t);
        }
        assert_int_equal(spans.count - first, count);
        for (int k = 0; k < count; k++) {
            const struct span *s = &spans.at[first + k];
            const struct collective_op *op = &ops[k];
            bool has_parts = op->kind == ALL_GATHER || op->kind == REDUCE_SCATTER;
            bool is_alone = op->kind == BARRIER || (op->to < 0 && op->from < 0 && op->kind == SEND_RECEIVE);
            bool is_source = op->kind == BROADCAST && op->from == m->rank;
            assert_int_equal(s->kind, SPAN_PHASES + (int)op->kind);
            assert_int_equal(s->group, g.number[i]);
            assert_int_equal(s->sequence, k);
            assert_int_equal(s->bytes, is_alone ? 0 : has_parts ? m->ranks * BYTES : BYTES);
            assert_int_equal(s->to, op->to < 0 ? -1 : m->world_rank[op->to]);
            assert_int_equal(s->from, op->from < 0 || is_source ? -1 : m->world_rank[op->from]);
        }
    }
    collective_close(c);
    spans_close(&spans);
}

/* Check that a barrier does not hide a wrong result before it from the check at the end. */
TEST(a_barrier_leaves_the_last_result_to_check)
{
    struct collective *c = collective_open(world, NULL);
    float *terms = device_new(MEMORY_DATA, COUNT, sizeof *terms);
    collective_check(c, CHECK_KEPT);
    for (int is_started = 0; is_started <= 1; is_started++)
        for (sabotage = HONEST; sabotage <= FLIPPED; sabotage++) {
            sum_in_place(c, terms, is_started);
            if (is_started)
                collective_finish(c, collective_start(c, barrier()));
            else
                collective_run(c, barrier());
            collective_check_last(c);
            assert_int_equal(collective_wrong(c).count, sabotage != HONEST);
        }
    sabotage = HONEST;
    device_free(terms);
    collective_close(c);
}

/* Let work that takes a while write the terms, and later work read the sums, without a wait in between. */
TEST(operations_take_their_place_among_the_work)
{
    enum { LONG = 1 << 20 };
    struct collective *c = collective_open(world, NULL);
    float *work = device_new(MEMORY_DATA, LONG, sizeof *work), *copy = device_new(MEMORY_DATA, COUNT, sizeof *copy),
          *host = memory_new(COUNT, sizeof *host);
    struct buffers b = fill();
    for (int is_started = 0; is_started <= 1; is_started++) {
        device_fill(work, 1, LONG);
        device_fill(b.send, (float)(world_rank(world) + 1 + is_started), COUNT);
        if (is_started)
            collective_finish(c, collective_start(c, all_reduce(TYPE_F32, b.send, b.receive, COUNT)));
        else
            collective_run(c, all_reduce(TYPE_F32, b.send, b.receive, COUNT));
        device_copy(copy, b.receive, COUNT);
        device_fetch(host, copy, COUNT * sizeof *host);
        int ranks = world_size(world);
        for (int i = 0; i < COUNT; i++)
            assert_int_equal(host[i], ranks * (ranks + 1) / 2 + ranks * is_started);
    }
    free(host);
    device_free(work);
    device_free(copy);
    drop(&b);
    collective_close(c);
}

/* No rank leaves a barrier, blocking or started, before the last one has entered it. */
TEST(a_barrier_waits_for_all)
{
    struct collective *c = collective_open(world, NULL);
    for (int is_started = 0; is_started <= 1; is_started++)
        for (int late = 0; late < world_size(world); late++) {
            if (world_rank(world) == late)
                world_sleep(0.02);
            double entered = world_now(), all[KNOWN_OP_RANKS];
            if (is_started) {
                collective_finish(c, collective_start(c, barrier()));
                device_wait();
            } else {
                collective_run(c, barrier());
            }
            double left = world_now();
            world_allgather(world, &entered, sizeof entered, all);
            assert_true(left >= all[late]); /* one clock for all ranks of a host */
        }
    collective_close(c);
}

/* These ranks have no supervisor, so the watchdog's thread may have to call MPI_Abort() while the rank is in another call. */
TEST(mpi_can_be_called_by_the_watchdog)
{
    int provided = MPI_THREAD_SINGLE;
    MPI_Query_thread(&provided);
    assert_int_equal(provided, MPI_THREAD_MULTIPLE);
}

TEST(parked_ranks_come_back)
{
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

TEST(sleeping_and_working_take_their_time)
{
    double begin = world_now();
    world_sleep(0.02);
    assert_true(world_now() - begin >= 0.02);
    begin = world_now();
    world_burn_cpu(0.02);
    assert_true(world_now() - begin >= 0.0199); /* wall time is at least the CPU time */
}

AROUND_TESTS(open_ranks, close_ranks)
