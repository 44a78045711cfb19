/* test_desync.c: test that calls of ranks that do not fit together are named with the rank, the collective and the cause. */
#include "launch/desync.h"

#include "support/unit.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_IN_TEST = 4, BUCKETS = 3, KB = 1000 };

static struct rank_record record[RANKS_IN_TEST];
static int ranks;

static void start(int count)
{
    memset(record, 0, sizeof record);
    ranks = count;
    for (int rank = 0; rank < count; rank++)
        record[rank].rank = rank;
}

/* The next call of a rank in a group of all ranks. */
static struct collective_call next(const struct rank_record *r, int group)
{
    struct collective_call call = { .kind = ALL_REDUCE, .group = group, .ranks = ranks, .step = -1 };
    call.members = group > 0 ? (UINT64_C(1) << ranks) - 1 : 0;
    for (int i = 0; i < r->calls; i++)
        call.sequence += r->call[i].group == group;
    return call;
}

static void add(int rank, struct collective_call call)
{
    record[rank].call[record[rank].calls++] = call;
}

static void call_sized(int rank, int step, int bucket, size_t bytes)
{
    struct collective_call call = next(&record[rank], 0);
    call.step = step;
    call.bucket = bucket;
    call.bytes = bytes;
    add(rank, call);
}

/* Bucket i has i kB. */
static void call_bucket(int rank, int step, int bucket)
{
    call_sized(rank, step, bucket, (size_t)bucket * KB);
}

/* A sum in group 1 or 2. */
static void call_group(int rank, int step, int group)
{
    struct collective_call call = next(&record[rank], group);
    call.step = step;
    call.bytes = (size_t)group * KB;
    add(rank, call);
}

static void whole_steps(int steps)
{
    for (int rank = 0; rank < ranks; rank++)
        for (int step = 0; step < steps; step++)
            for (int bucket = 1; bucket <= BUCKETS; bucket++)
                call_bucket(rank, step, bucket);
}

/* The ranks wait in the last calls that they made. */
static void wait_in_last(int from, int to)
{
    for (int rank = from; rank <= to; rank++) {
        record[rank].is_inside = true;
        record[rank].inside = record[rank].call[record[rank].calls - 1];
    }
}

static void expect(const char *wanted)
{
    bool is_settled = false;
    char *text = desync_text(record, ranks, &is_settled);
    assert_string_equal(text ? text : "nothing", wanted);
    free(text);
}

static void expect_part(const char *wanted)
{
    bool is_settled = false;
    char *text = desync_text(record, ranks, &is_settled);
    if (!text || !strstr(text, wanted))
        fail_msg("'%s' is not in: %s", wanted, text ? text : "nothing");
    free(text);
}

TEST(ranks_that_agree_are_left_alone)
{
    start(3);
    expect("nothing");
    whole_steps(2);
    expect("nothing");
    call_bucket(0, 2, 1); /* ahead of the others */
    wait_in_last(0, 0);
    expect("nothing");
    record[1].has_finished = record[2].has_finished = true; /* after calls that all made */
    start(2);
    whole_steps(2);
    wait_in_last(0, 0);
    record[1].has_finished = true;
    expect("nothing");
}

TEST(a_call_left_out_is_named)
{
    start(3);
    whole_steps(2);
    for (int bucket = 1; bucket <= BUCKETS; bucket++)
        for (int rank = 0; rank < ranks; rank++)
            if (rank != 1 || bucket != 2)
                call_bucket(rank, 2, bucket);
    wait_in_last(0, 2);
    expect(
        "rank 1 left out bucket 2 in step 2: all-reduce 7 in group 0 of ranks 0, 1 and 2 is bucket 2 of 2 kB on "
        "ranks 0 and 2, but bucket 3 of 3 kB on rank 1; cause: a gradient that was not computed on rank 1 (an unused "
        "parameter), and no zeros in its place; cure: zeros for unused gradients (find_unused_parameters)");
}

/* The numbers of buckets show which ranks left one out, also if that is most ranks, or one of two. */
TEST(the_gap_counts_and_not_the_majority)
{
    start(3);
    for (int bucket = 1; bucket <= BUCKETS; bucket++)
        for (int rank = 0; rank < ranks; rank++)
            if (rank == 1 || bucket == 3)
                call_sized(rank, 0, bucket, KB);
    expect_part("ranks 0 and 2 left out buckets 1 to 2 in step 0: all-reduce 0 in group 0 of ranks 0, 1 and 2 is "
                "bucket 1 of 1 kB on rank 1, but bucket 3 of 1 kB on ranks 0 and 2; ");
    start(2);
    whole_steps(1);
    call_bucket(0, 1, 2);
    for (int bucket = 1; bucket <= BUCKETS; bucket++)
        call_bucket(1, 1, bucket);
    expect_part("rank 0 left out bucket 1 in step 1: all-reduce 3 in");
}

/* The last bucket of a step: the rank is in the next step. With one bucket nothing differs but the step. */
TEST(a_step_that_is_ahead_left_something_out)
{
    start(2);
    whole_steps(1);
    for (int bucket = 1; bucket <= BUCKETS; bucket++)
        call_bucket(0, 1, bucket);
    for (int i = 0; i < 3; i++)
        call_bucket(1, i < 2 ? 1 : 2, i < 2 ? i + 1 : 1);
    expect_part("rank 1 left out bucket 3: all-reduce 5 in group 0 of ranks 0 and 1 is bucket 3 of 3 kB in step 1 on "
                "rank 0, but bucket 1 of 1 kB in step 2 on rank 1;");
    start(2);
    for (int step = 0; step < 4; step++) {
        call_bucket(0, step, 1);
        if (step != 2)
            call_bucket(1, step, 1);
    }
    expect_part(
        "rank 1 left out bucket 1: all-reduce 2 in group 0 of ranks 0 and 1 is bucket 1 of 1 kB in step 2 on rank "
        "0, but bucket 1 of 1 kB in step 3 on rank 1;");
}

TEST(calls_without_buckets_are_aligned)
{
    static const size_t all[] = { 5, 6, 7 }, less[] = { 5, 7 }, swapped[] = { 5, 7, 6 };
    start(3);
    for (int i = 0; i < 3; i++) {
        call_sized(0, 0, 0, all[i]);
        call_sized(2, 0, 0, all[i]);
    }
    for (int i = 0; i < 2; i++)
        call_sized(1, 0, 0, less[i]);
    expect_part(
        "rank 1 left out a call in step 0: all-reduce 1 in group 0 of ranks 0, 1 and 2 is 6 B on ranks 0 and 2, "
        "but 7 B on rank 1; cause: a branch that was not taken on rank 1; cure: ");
    record[1].calls = 0;
    for (int i = 0; i < 3; i++)
        call_sized(1, 0, 0, swapped[i]);
    expect_part("rank 1 calls in another order in step 0: all-reduce 1 in");
}

TEST(another_order_is_named)
{
    static const int orders[2][BUCKETS] = { { 1, 2, 3 }, { 1, 3, 2 } };
    for (int odd = 0; odd < 2; odd++) {
        start(2);
        whole_steps(2);
        for (int i = 0; i < BUCKETS; i++)
            for (int rank = 0; rank < 2; rank++)
                call_sized(rank, 2, orders[rank == odd][i], KB);
        wait_in_last(0, 1);
        expect_part(odd == 1
                        ? "rank 1 calls in another order in step 2: all-reduce 7 in group 0 of ranks 0 and 1 is bucket "
                          "2 of 1 kB on rank 0, but bucket 3 of 1 kB on rank 1, which calls that one later; cause: "
                          "calls started as they became ready, in another order on rank 1; cure: one order for all"
                        : "rank 0 calls in another order in step 2: all-reduce 7 in group 0 of ranks 0 and 1 is bucket "
                          "2 of 1 kB on rank 1, but bucket 3 of 1 kB on rank 0, which");
    }
}

TEST(another_size_is_named)
{
    start(3);
    for (int rank = 0; rank < ranks; rank++)
        call_sized(rank, 0, 1, rank == 2 ? KB : 2 * KB);
    expect(
        "rank 2 sums another size in step 0: all-reduce 0 in group 0 of ranks 0, 1 and 2 is bucket 1 of 2 kB on ranks "
        "0 and 1, but bucket 1 of 1 kB on rank 2; cause: other buckets or shapes on rank 2; cure: buckets and shapes "
        "of one rank for all (rank 0 broadcasts them)");
    for (int odd = 0; odd < 2; odd++) {
        start(2);
        whole_steps(3);
        for (int rank = 0; rank < 2; rank++)
            call_sized(rank, 3, 1, rank == odd ? 7 : KB);
        expect_part(odd == 0
                        ? "rank 0 sums another size in step 3: all-reduce 9 in group 0 of ranks 0 and 1 is bucket 1 of "
                          "1 kB on rank 1, but bucket 1 of 7 B on rank 0; cause: other buckets or shapes on rank 0, "
                          "unlike in step 2 (bucket 1 of 1 kB); cure: "
                        : "rank 1 sums another size in step 3:");
    }
    start(2); /* nothing tells which is wrong */
    call_sized(0, 0, 1, 7);
    call_sized(1, 0, 1, KB);
    expect(
        "rank 0 and rank 1 disagree in step 0: all-reduce 0 in group 0 of ranks 0 and 1 is bucket 1 of 7 B on rank 0, "
        "but bucket 1 of 1 kB on rank 1; cause: another size or order of calls; cure: all ranks of a group must make "
        "the same calls in the same order");
}

TEST(another_collective_is_named)
{
    start(3);
    whole_steps(1);
    for (int rank = 0; rank < ranks; rank++)
        call_sized(rank, 1, 0, KB);
    record[0].call[BUCKETS].kind = BARRIER;
    record[0].call[BUCKETS].bytes = 0;
    expect_part(
        "rank 0 calls another collective in step 1: collective 3 in group 0 of ranks 0, 1 and 2 is all-reduce of 1 "
        "kB on ranks 1 and 2, but barrier on rank 0; cause: another path through the program on rank 0; cure: ");
}

TEST(a_rank_that_ended_is_named)
{
    start(3);
    whole_steps(4);
    for (int rank = 0; rank < 3; rank += 2)
        call_bucket(rank, 4, 1);
    wait_in_last(0, 0);
    wait_in_last(2, 2);
    expect("nothing");
    record[1].has_finished = true;
    expect(
        "rank 1 ended after step 3: ranks 0 and 2 wait in all-reduce 12 in group 0 of ranks 0, 1 and 2 (bucket 1 of 1 "
        "kB in step 4); cause: fewer batches on rank 1 (an uneven epoch); cure: join (a rank without data goes on in "
        "the sums of the others), or equally many batches");
    for (int rank = 0; rank < 3; rank += 2)
        call_bucket(rank, 4, 2);
    call_bucket(1, 4, 1); /* it took part in the begin of the step */
    wait_in_last(0, 0);
    wait_in_last(2, 2);
    expect_part(
        "rank 1 left out bucket 2: ranks 0 and 2 wait in all-reduce 13 in group 0 of ranks 0, 1 and 2 (bucket 2 of "
        "2 kB in step 4); cause: a gradient");
}

/* After its loop the rank waits for the others in a barrier. */
TEST(a_rank_that_left_its_loop_is_named)
{
    for (int odd = 0; odd < 2; odd++) {
        start(2);
        whole_steps(2);
        struct collective_call call = next(&record[odd], 0);
        call.kind = BARRIER;
        add(odd, call);
        call_bucket(1 - odd, 2, 1);
        wait_in_last(0, 1);
        expect_part(odd == 1
                        ? "rank 1 ended after step 1: collective 6 in group 0 of ranks 0 and 1 is bucket 1 of 1 kB in "
                          "step 2 on rank 0, but barrier outside of steps on rank 1; cause: fewer batches on rank 1"
                        : "rank 0 ended after step 1: collective 6 in group 0 of ranks 0 and 1 is bucket 1 of 1 kB in "
                          "step 2 on rank 1, but barrier outside of steps on rank 0; cause: fewer batches on rank 0");
    }
}

/* Let rank `odd` of `count` call group 2 first in its last step, and the others group 1. */
static void cross(int count, int odd, int steps)
{
    start(count);
    for (int rank = 0; rank < count; rank++) {
        for (int step = 0; step < steps; step++)
            for (int group = 1; group <= 2; group++)
                call_group(rank, step, group);
        call_group(rank, steps, rank == odd ? 2 : 1);
    }
    wait_in_last(0, count - 1);
}

TEST(crossed_groups_are_named)
{
    cross(3, 0, 0);
    expect("groups 1 and 2 are crossed: rank 0 waits in all-reduce 0 in group 2 of ranks 0, 1 and 2 (2 kB in "
           "step 0), ranks 1 and 2 wait in all-reduce 0 in group 1 of ranks 0, 1 and 2 (1 kB in step 0); "
           "cause: rank 0 calls group 2 before group 1; cure: one order of groups for all ranks");
    for (int odd = 0; odd < 2; odd++) { /* of two ranks, the one that changed its order */
        cross(2, odd, 3);
        expect_part(odd == 0 ? "cause: rank 0 calls group 2 before group 1, unlike in step 2; cure"
                             : "cause: rank 1 calls");
    }
    cross(2, 0, 0);
    expect_part("cause: each calls its own group first; cure: ");
    for (int i = 0; i < record[0].calls; i++)
        record[0].inside.kind = record[0].call[i].kind = BROADCAST; /* its root does not wait */
    record[1].inside.kind = record[1].call[0].kind = BROADCAST;
    expect("nothing");
}

/* Each of three ranks waits for the next one, in groups of two. */
TEST(a_circle_of_three_is_named)
{
    start(3);
    for (int rank = 0; rank < 3; rank++)
        add(rank, (struct collective_call){ .kind = BARRIER,
                                            .group = rank + 1,
                                            .members = UINT64_C(1) << rank | UINT64_C(1) << (rank + 1) % 3,
                                            .ranks = 2 });
    wait_in_last(0, 1);
    expect("nothing"); /* rank 2 computes */
    wait_in_last(2, 2);
    expect_part("groups 1 and 2 are crossed: ");
}

TEST(other_collectives_of_the_same_ranks_are_not_compared)
{
    start(2);
    whole_steps(1);
    record[1].call[1].bytes = 7;
    expect_part("rank 0 and rank 1 disagree in step 0: all-reduce 1 in");
    for (int i = 0; i < BUCKETS; i++)
        record[1].call[i].opened = 1;
    expect("nothing");
    for (int i = 0; i < BUCKETS; i++)
        record[0].call[i].opened = record[1].call[i].opened = -1; /* unknown */
    expect("nothing");
}

TEST(a_rank_that_still_calls_is_not_settled)
{
    bool is_settled = true;
    start(2);
    call_sized(0, 0, 1, 7);
    call_sized(1, 0, 1, KB);
    wait_in_last(0, 0);
    free(desync_text(record, ranks, &is_settled));
    assert_false(is_settled);
    record[1].is_gone = true;
    free(desync_text(record, ranks, &is_settled));
    assert_true(is_settled);
}

/* Rank 0 is still in bucket 1, which all have made, so it will leave and call bucket 2. */
TEST(a_rank_that_will_leave_its_call_is_not_settled)
{
    bool is_settled = true;
    start(3);
    for (int rank = 0; rank < ranks; rank++)
        call_bucket(rank, 0, 1);
    call_bucket(1, 0, 2);
    call_bucket(2, 0, 3);
    wait_in_last(0, 2);
    free(desync_text(record, ranks, &is_settled));
    assert_false(is_settled);
    call_bucket(0, 0, 2);
    wait_in_last(0, 0);
    free(desync_text(record, ranks, &is_settled));
    assert_true(is_settled);
}
