/* test_side_processes.c: test the side processes of simulated ranks on the machine of round numbers (round_numbers.xml) and
 * its virtual clock, so that every duration is exact. An all-reduce of COUNT floats among four ranks takes 12 ms, one of n
 * floats among two 2 + n / 49087.
 *
 * usage: test_side_processes PLATFORM sums|kinds|helper|deadlock|silence|wrong; starts its own ranks */
#include "base/die.h"
#include "base/memory.h"
#include "collective/collective.h"
#include "collective/spans.h"
#include "launch/flight_recorder.h"
#include "launch/job.h"
#include "support/known_op.h"
#include "support/patience.h"
#include "support/simulated.h"
#include "world/async_helper.h"
#include "world/world.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 4, COUNT = 196348, BUCKETS = 4, EACH = 40000 };

static void expect(int line, bool holds, const char *what)
{
    if (!holds)
        die(STATUS_WRONG, "line %d: not so: %s", line, what);
}
#define EXPECT(condition) expect(__LINE__, condition, #condition)

static void expect_ms(int line, double seconds, double milliseconds)
{
    if (!(fabs(1e3 * seconds - milliseconds) < 5e-3)) /* SMPI adds 16 bytes to a message, 80 ns each */
        die(STATUS_WRONG, "line %d: %.6f ms, not %.6f", line, 1e3 * seconds, milliseconds);
}
#define EXPECT_MS(seconds, milliseconds) expect_ms(__LINE__, seconds, milliseconds)

static struct world *world;

struct buffers {
    float send[COUNT], receive[COUNT], blocking[COUNT];
};

static struct buffers *fill(void)
{
    struct buffers *b = memory_new(1, sizeof *b);
    for (int i = 0; i < COUNT; i++)
        b->send[i] = 1.0f / (float)(1 + world_rank(world) + i % 97); /* rounding shows the order of additions */
    return b;
}

/* Let all ranks continue at the same time of the common clock. After a barrier some ranks continue earlier than others. */
static void start_together(void)
{
    double when = world_now() + 0.1;
    world_broadcast(world, &when, sizeof when);
    world_sleep(when - world_now());
}

/* Start an all-reduce, work, then finish it. Both together take the longer time; the rest of the all-reduce is exposed. */
static void a_started_sum_runs_beside_the_work(void)
{
    struct spans spans;
    spans_open(&spans, 4);
    struct collective *c = collective_open(world, &spans);
    struct buffers *b = fill();
    collective_run(c, all_reduce(TYPE_F32, b->send, b->blocking, COUNT));
    const double work_ms[] = { 0, 8, 20 };
    for (int i = 0; i < 3; i++) {
        start_together();
        double began = world_now();
        memset(b->receive, 0, sizeof b->receive);
        int ticket = collective_start(c, all_reduce(TYPE_F32, b->send, b->receive, COUNT));
        EXPECT_MS(world_now() - began, 0);
        world_burn_cpu(work_ms[i] / 1e3);
        collective_finish(c, ticket);
        EXPECT(memcmp(b->receive, b->blocking, sizeof b->blocking) == 0);
        const struct span *s = &spans.at[spans.count - 1];
        EXPECT(s->progressed);
        EXPECT_MS(s->entered - s->start, work_ms[i]);
        EXPECT_MS(s->end - s->entered, fmax(0, 12 - work_ms[i]));
    }
    free(b);
    collective_close(c);
    spans_close(&spans);
}

/* Start several buckets: they run one after another, and may be finished in any order. */
static void buckets_queue(void)
{
    struct collective *c = collective_open(world, NULL);
    struct buffers *b = fill();
    for (int i = 0; i < BUCKETS; i++)
        collective_run(c, all_reduce(TYPE_F32, b->send + i * EACH, b->blocking + i * EACH, EACH));
    start_together();
    double began = world_now();
    int ticket[BUCKETS];
    for (int i = 0; i < BUCKETS; i++)
        ticket[i] = collective_start(c, all_reduce(TYPE_F32, b->send + i * EACH, b->receive + i * EACH, EACH));
    for (int i = BUCKETS; i-- > 0;)
        collective_finish(c, ticket[i]);
    /* 2 (4 - 1) messages of a quarter bucket, one after another, per bucket. */
    EXPECT_MS(world_now() - began, BUCKETS * 6 * (1 + EACH * 4 / 4 / 196348.0));
    EXPECT(memcmp(b->receive, b->blocking, (size_t)BUCKETS * EACH * sizeof(float)) == 0);
    free(b);
    collective_close(c);
}

/* Use two of the four ranks while the others are parked. */
static void a_part_of_the_world_starts_its_own(void)
{
    struct world *part = world_first(world, 2);
    if (part) {
        struct collective *c = collective_open(part, NULL);
        float send[2] = { 1, 10 }, receive[2] = { 0 };
        collective_finish(c, collective_start(c, all_reduce(TYPE_F32, send, receive, 2)));
        EXPECT(receive[0] > 1.5f && receive[0] < 2.5f && receive[1] > 19 && receive[1] < 21);
        uint16_t ones[2] = { 0x3f80, 0x3f80 }, sum[2] = { 0 }; /* 1 in bf16 */
        collective_finish(c, collective_start(c, all_reduce(TYPE_BF16, ones, sum, 2)));
        EXPECT(sum[0] == 0x4000 && sum[1] == 0x4000);
        collective_close(c);
        world_leave(part);
    }
    world_park(world);
}

/* Run every kind in a group, blocking and started, in place and not; and once with fake buffers, which have no results. */
static void every_kind_gives_exact_results(struct collective *c, const struct group *group, struct known_op_members m)
{
    const size_t elements = 5000;
    char *fake = device_new(MEMORY_DATA, 2 * RANKS * elements, sizeof(float));
    for (enum element_type type = TYPE_F32; type <= TYPE_BF16; type++) {
        struct collective_op ops[KNOWN_OPS];
        int count = known_op_list(ops, &m, type, elements);
        for (int i = 0; i < count; i++) {
            struct known_op t = { .op = in_group(group, ops[i]) };
            t.op.send = fake;
            t.op.receive = fake + RANKS * elements * sizeof(float);
            known_op_run(&t, c, i % 2);
            for (int way = 0; way < (known_op_can_be_in_place(&ops[i]) ? 4 : 2); way++) {
                t = known_op_open(in_group(group, ops[i]), &m, 4 * i + way, way & 2);
                known_op_run(&t, c, way & 1);
                if (known_op_wrong(&t) >= 0)
                    die(STATUS_WRONG, "%d ranks, operation %d, way %d, type %d: element %ld of %zu is wrong", m.ranks,
                        i, way, (int)type, known_op_wrong(&t), t.elements);
                known_op_close(&t);
            }
        }
    }
    device_free(fake);
}

static void groups_do_every_kind(void)
{
    int rank = world_rank(world);
    struct collective *c = collective_open(world, NULL);
    const struct group *parity = collective_split(c, rank % 2, 0), *reverse = collective_split(c, 0, -rank);
    const struct group *three = collective_split(c, rank < 3 ? 0 : -1, 0);
    EXPECT((three == NULL) == (rank == 3));
    every_kind_gives_exact_results(c, NULL, (struct known_op_members){ rank, RANKS, { 0, 1, 2, 3 } });
    every_kind_gives_exact_results(c, parity, (struct known_op_members){ rank / 2, 2, { rank % 2, rank % 2 + 2 } });
    every_kind_gives_exact_results(c, reverse, (struct known_op_members){ RANKS - 1 - rank, RANKS, { 3, 2, 1, 0 } });
    if (three)
        every_kind_gives_exact_results(c, three, (struct known_op_members){ rank, 3, { 0, 1, 2 } });
    collective_close(c);
}

/* Start a message along the chain of ranks and an all-reduce of pairs: they run one after another, beside the work. */
static void groups_share_the_engine(void)
{
    int rank = world_rank(world);
    struct collective *c = collective_open(world, NULL);
    struct buffers *b = fill();
    const struct group *pair = collective_split(c, rank / 2, 0);
    start_together();
    double began = world_now();
    int first =
        collective_start(c, send_receive(TYPE_F32, rank < 3 ? rank + 1 : -1, b->send, rank - 1, b->receive, COUNT));
    int second = collective_start(c, in_group(pair, all_reduce(TYPE_F32, b->send, b->blocking, EACH)));
    world_burn_cpu(2e-3);
    collective_finish(c, second); /* 5 ms for the message, then the all-reduce */
    EXPECT_MS(world_now() - began, 5 + 2 + EACH / 49087.0);
    collective_finish(c, first);
    EXPECT_MS(world_now() - began, 5 + 2 + EACH / 49087.0);
    EXPECT(rank == 0 ||
           memcmp(b->receive + 1, b->send, 96 * sizeof(float)) == 0); /* element i + 1 of the rank before */
    free(b);
    collective_close(c);
}

static void sleep_10(void *context)
{
    world_sleep(10e-3);
    *(int *)context += 1;
}

static void work_10(void *context)
{
    world_burn_cpu(10e-3);
    *(int *)context += 1;
}

/* Run an async helper next to work: a sleep overlaps with work, and work of both shares the core. */
static void a_helper_shares_the_core(void)
{
    struct async_helper *helper = async_helper_open();
    int done = 0;
    double began = world_now();
    async_helper_end(helper); /* nothing to wait for */
    EXPECT_MS(world_now() - began, 0);
    async_helper_begin(helper, sleep_10, &done);
    world_burn_cpu(4e-3);
    EXPECT(done == 0);
    async_helper_end(helper);
    EXPECT(done == 1);
    EXPECT_MS(world_now() - began, 10);

    began = world_now();
    async_helper_begin(helper, work_10, &done);
    world_burn_cpu(4e-3);
    EXPECT_MS(world_now() - began, 8); /* at half speed */
    async_helper_end(helper);
    EXPECT_MS(world_now() - began, 14);
    EXPECT(done == 2);

    began = world_now();
    async_helper_begin(helper, work_10, &done);
    world_sleep(10e-3); /* leaves the core */
    async_helper_end(helper);
    EXPECT_MS(world_now() - began, 10);

    began = world_now();
    async_helper_begin(helper, sleep_10, &done);
    async_helper_begin(helper, sleep_10, &done); /* a queue: after the first */
    async_helper_end_one(helper);
    EXPECT_MS(world_now() - began, 10);
    EXPECT(done == 4);
    async_helper_begin(helper, sleep_10, &done);
    world_sleep(12e-3);
    async_helper_end_one(helper); /* ended before */
    EXPECT_MS(world_now() - began, 22);
    async_helper_end(helper);
    EXPECT_MS(world_now() - began, 30);
    async_helper_end_one(helper); /* nothing to wait for */
    EXPECT(done == 6);

    struct async_helper *second = async_helper_open();
    began = world_now();
    async_helper_begin(helper, work_10, &done);
    async_helper_begin(second, sleep_10, &done);
    world_burn_cpu(10e-3); /* two work, one sleeps */
    EXPECT_MS(world_now() - began, 20);
    async_helper_end(second);
    async_helper_end(helper);
    EXPECT_MS(world_now() - began, 20);
    EXPECT(done == 8);
    async_helper_close(second);
    async_helper_close(helper);
    async_helper_close(async_helper_open()); /* side processes can be reused */
}

static int start(char *const *argv)
{
    return simulated_start("test_side_processes", argv[1],
                           (struct launch){ .ranks = RANKS,
                                            .cores = RANKS,
                                            .timeout = 20 * patience(),
                                            .arguments = (const char *const[]){ argv[2], NULL } });
}

int main(int argc, char **argv)
{
    if (!job_is_rank())
        return argc == 3 ? start(argv) : STATUS_USAGE;
    job_arguments(&argc, &argv);
    world = world_open(60);
    EXPECT(world_size(world) == RANKS && world_cores(world) == RANKS);
    int rank = world_rank(world);
    if (rank == 0)
        world_set_timeout(world, 20 * patience());
    if (strcmp(argv[1], "sums") == 0) {
        a_started_sum_runs_beside_the_work();
        buckets_queue();
        a_part_of_the_world_starts_its_own();
    } else if (strcmp(argv[1], "kinds") == 0) {
        groups_do_every_kind();
        groups_share_the_engine();
    } else if (strcmp(argv[1], "helper") == 0) {
        a_helper_shares_the_core();
    } else if (strcmp(argv[1], "deadlock") == 0) {
        if (rank != 1)
            world_barrier(world); /* rank 1 waits for an all-reduce that the other ranks never start */
        struct collective *c = collective_open(world, NULL);
        float send = 1, receive = 0;
        collective_finish(c, collective_start(c, all_reduce(TYPE_F32, &send, &receive, 1)));
    }
    world_barrier(world);
    if (rank == 0 && strcmp(argv[1], "silence") != 0)
        flight_recorder_end(world_recorder(world));
    world_close(world);
    return strcmp(argv[1], "wrong") == 0 ? STATUS_WRONG : STATUS_RIGHT;
}
