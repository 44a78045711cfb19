/* The collectives on real ranks, started by mpirun. An all-reduce of our own stands before MPI's (the profiling
 * interface allows it), so that a wrong sum can be made to order: a check that cannot fail would be none. */
#include "bf16.h"
#include "collective.h"
#include "memory.h"
#include "spans.h"
#include "world.h"

#include <math.h>
#include <mpi.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { COUNT = 5000 };

static struct world *world;
static enum { HONEST, FLIPPED, LOST } sabotage;

int MPI_Allreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    if (sabotage == LOST && count == COUNT) {
        memcpy(receive, send, (size_t)count * sizeof(float));
        return MPI_SUCCESS;
    }
    int status = PMPI_Allreduce(send, receive, count, type, op, comm);
    if (sabotage == FLIPPED && count == COUNT)
        for (int i = 0; i < count; i++)
            ((uint32_t *)receive)[i] ^= 1u << 22; /* the highest bit of the fraction */
    return status;
}

/* The same for a started sum: it is there at once, and the request is one that is done. */
int MPI_Iallreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request *request)
{
    if (sabotage == HONEST)
        return PMPI_Iallreduce(send, receive, count, type, op, comm, request);
    *request = MPI_REQUEST_NULL;
    return MPI_Allreduce(send, receive, count, type, op, comm);
}

static float value_of(int rank, int i)
{
    return (float)((rank + 1) * (i % 97 - 48)); /* whole numbers: sums are exact in any order */
}

static float sum_of(int i)
{
    int ranks = world_size(world);
    return (float)(ranks * (ranks + 1) / 2 * (i % 97 - 48));
}

struct buffers {
    float send[COUNT], receive[COUNT];
};

static struct buffers *fill(void)
{
    struct buffers *b = memory_new(1, sizeof *b);
    for (int i = 0; i < COUNT; i++) {
        b->send[i] = value_of(world_rank(world), i);
        b->receive[i] = -1e30f; /* poison: who writes nothing is noticed */
    }
    return b;
}

static void assert_sums(const struct buffers *b)
{
    for (int i = 0; i < COUNT; i++) {
        float expected = sum_of(i);
        assert_memory_equal(&b->receive[i], &expected, sizeof expected);
        expected = value_of(world_rank(world), i);
        assert_memory_equal(&b->send[i], &expected, sizeof expected); /* what was sent is still there */
    }
}

static void a_sum_adds_all_ranks_and_stamps_itself(void **state)
{
    (void)state;
    struct spans spans;
    spans_open(&spans, 4);
    spans_restart(&spans, 0, 0);
    struct collective *c = collective_open(world, &spans);
    struct buffers *b = fill();
    double before = world_now();
    collective_sum(c, WIRE_F32, b->send, b->receive, COUNT);
    double after = world_now();
    assert_sums(b);
    collective_barrier(c);
    assert_int_equal(spans.count, 2);
    const struct span *s = &spans.at[0];
    assert_true(before <= s->start && s->start <= s->entered && s->entered <= s->end && s->end <= after);
    assert_int_equal(s->kind, SPAN_SUM);
    assert_int_equal(s->bytes, COUNT * sizeof(float));
    assert_int_equal(s->sequence, 0);
    assert_int_equal(spans.at[1].kind, SPAN_BARRIER);
    assert_int_equal(spans.at[1].sequence, 1);
    free(b);
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
    struct buffers *b = fill();
    int ticket[BUCKETS];
    for (int i = 0; i < BUCKETS; i++)
        ticket[i] = collective_start(c, WIRE_F32, b->send + i * EACH, b->receive + i * EACH, EACH);
    collective_progress(c);
    for (int i = 0; i < BUCKETS; i++)
        collective_finish(c, ticket[i]);
    assert_sums(b);
    for (int i = 0; i < BUCKETS; i++) {
        assert_true(spans.at[i].start <= spans.at[i].entered && spans.at[i].entered <= spans.at[i].end);
        assert_true(spans.at[i].progressed);
        assert_int_equal(spans.at[i].sequence, i);
    }
    int again = collective_start(c, WIRE_F32, b->send, b->receive, 1);
    assert_int_equal(again, ticket[0]); /* a finished ticket is free */
    collective_finish(c, again);
    free(b);
    collective_close(c);
    spans_close(&spans);
}

static void bf16_halves_the_bytes_and_rounds(void **state)
{
    (void)state;
    struct spans spans;
    spans_open(&spans, 1);
    spans_restart(&spans, 0, 0);
    struct collective *c = collective_open(world, &spans);
    /* 1.0, -2.0, 256.0 and 1.0078125 (the next after 1) in bf16; the sums below need no more than 8 bits */
    uint16_t send[] = { 0x3f80, 0xc000, 0x4380, 0x3f80 }, receive[4] = { 0 };
    collective_check(c, 1);
    collective_sum(c, WIRE_BF16, send, receive, 4);
    assert_int_equal(collective_wrong(c), 0);
    uint32_t bits = (uint32_t)receive[0] << 16;
    float sum;
    memcpy(&sum, &bits, sizeof sum);
    assert_true(sum >= (float)world_size(world) && sum <= (float)world_size(world));
    assert_int_equal(spans.at[0].bytes, 8);
    collective_close(c);
    spans_close(&spans);
}

static void a_wrong_sum_is_noticed(void **state)
{
    (void)state;
    struct collective *c = collective_open(world, NULL);
    struct buffers *b = fill();
    collective_check(c, 1);
    collective_sum(c, WIRE_F32, b->send, b->receive, COUNT);
    assert_int_equal(collective_wrong(c), 0);
    for (sabotage = FLIPPED; sabotage <= LOST; sabotage++) {
        collective_sum(c, WIRE_F32, b->send, b->receive, COUNT);
        assert_int_equal(collective_wrong(c), 1);
        assert_int_equal(collective_wrong(c), 0); /* told once */
    }
    sabotage = HONEST;
    b->send[0] = (float)NAN; /* a NaN on any rank fails every comparison */
    collective_sum(c, WIRE_F32, b->send, b->receive, COUNT);
    assert_int_equal(collective_wrong(c), 1);
    free(b);
    collective_close(c);
}

/* A check comes after the sum's end: of all that were started, the one that is wrong is counted, once. */
static void a_wrong_started_sum_is_noticed(void **state)
{
    (void)state;
    struct collective *c = collective_open(world, NULL);
    struct buffers *b = fill(), *other = fill();
    for (int checking = 0; checking <= 1; checking++)
        for (sabotage = HONEST; sabotage <= LOST; sabotage++) {
            collective_check(c, checking);
            int whole = collective_start(c, WIRE_F32, b->send, b->receive, COUNT);
            int part = collective_start(c, WIRE_F32, other->send, other->receive, COUNT / 2); /* sabotage spares it */
            collective_progress(c);
            collective_finish(c, whole);
            collective_finish(c, part);
            assert_int_equal(collective_wrong(c), checking && sabotage != HONEST);
        }
    sabotage = HONEST;
    free(b);
    free(other);
    collective_close(c);
}

static void started_bf16_sums_round_each_partial_sum(void **state)
{
    (void)state;
    struct spans spans;
    spans_open(&spans, 3);
    spans_restart(&spans, 0, 0);
    struct collective *c = collective_open(world, &spans);
    collective_check(c, 1);
    /* 1, -2 and 256; then 256 from rank 0 and 1 from all others: the 1 is half of 256's last place and may vanish. */
    uint16_t small = world_rank(world) == 0 ? 0x4380 : 0x3f80;
    uint16_t send[] = { 0x3f80, 0xc000, 0x4380, small }, receive[] = { 0x7fc0, 0x7fc0, 0x7fc0, 0x7fc0 };
    uint16_t blocking[4];
    int first = collective_start(c, WIRE_BF16, send, receive, 2);
    int second = collective_start(c, WIRE_BF16, send + 2, receive + 2, 2);
    collective_finish(c, first);
    collective_finish(c, second);
    assert_int_equal(collective_wrong(c), 0);
    int ranks = world_size(world);
    const double exact[] = { ranks, -2 * ranks, 256 * ranks };
    for (int i = 0; i < 3; i++)
        assert_true((double)bf16_widen(receive[i]) == exact[i]);
    double sum = 256 + ranks - 1, got = (double)bf16_widen(receive[3]);
    assert_true(got >= 256 && fabs(got - sum) <= (ranks - 1) * ldexp(sum, -8)); /* a rounding per addition */
    assert_int_equal(spans.at[0].bytes, 4);
    collective_sum(c, WIRE_BF16, send, blocking, 2);
    assert_memory_equal(blocking, receive, 4); /* a sum that blocks says the same */
    collective_close(c);
    spans_close(&spans);
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
    world_rest(world);
    int told = world_rank(world) == 0 ? 42 : 0;
    world_broadcast(world, &told, sizeof told);
    assert_int_equal(told, 42);
}

static void sleeping_and_working_take_their_time(void **state)
{
    (void)state;
    double begin = world_now();
    world_sleep(0.02);
    assert_true(world_now() - begin >= 0.02);
    begin = world_now();
    world_busy(0.02);
    assert_true(world_now() - begin >= 0.0199); /* CPU time: never less of the clock */
}

int main(void)
{
    world = world_open();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sum_adds_all_ranks_and_stamps_itself),
        cmocka_unit_test(a_started_sum_is_there_when_finished),
        cmocka_unit_test(bf16_halves_the_bytes_and_rounds),
        cmocka_unit_test(a_wrong_sum_is_noticed),
        cmocka_unit_test(a_wrong_started_sum_is_noticed),
        cmocka_unit_test(started_bf16_sums_round_each_partial_sum),
        cmocka_unit_test(parked_ranks_come_back),
        cmocka_unit_test(sleeping_and_working_take_their_time),
    };
    int failed = cmocka_run_group_tests_name("collective", tests, NULL, NULL);
    world_close(world);
    return failed;
}
