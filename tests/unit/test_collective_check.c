/* test_collective_check.c: test that buffers which overlap are refused, unless an operation works in place. */
#include "collective/collective_check.h"

#include "base/die.h"
#include "support/ending.h"
#include "support/unit.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { RANKS = 3, COUNT = 4 };
static float memory[3 * RANKS * COUNT];
static const struct group rank_1 = { .rank = 1, .ranks = RANKS };

static void check(const void *op)
{
    collective_check_buffers(&rank_1, op);
}

static void assert_refused(struct collective_op op, const char *kind)
{
    struct ending ending = ending_of(check, &op);
    assert_int_equal(ending.status, STATUS_WRONG);
    assert_holds(ending.err, kind);
    assert_holds(ending.err, "rank 1 of a group of 3");
}

TEST(buffers_in_place_or_apart_are_accepted)
{
    float *whole = memory, *own = memory + COUNT, *apart = memory + RANKS * COUNT;
    const struct collective_op right[] = {
        all_reduce(TYPE_F32, whole, whole, COUNT),
        all_reduce(TYPE_F32, whole, whole + COUNT, COUNT),
        all_gather(TYPE_F32, own, whole, COUNT),
        all_gather(TYPE_F32, apart, whole, COUNT),
        reduce_scatter(TYPE_F32, whole, own, COUNT),
        reduce_scatter(TYPE_F32, whole, apart, COUNT),
        broadcast(TYPE_F32, 1, whole, whole, COUNT),
        broadcast(TYPE_F32, 0, whole + 1, whole, COUNT), /* send is not used */
        send_receive(TYPE_F32, 0, whole, 2, own, COUNT),
        send_receive(TYPE_F32, -1, whole, 2, whole, COUNT),
    };
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        check(&right[i]);
}

TEST(buffers_that_overlap_in_part_are_refused)
{
    assert_refused(all_reduce(TYPE_F32, memory, memory + 1, COUNT), "all-reduce");
    assert_refused(all_gather(TYPE_F32, memory, memory, COUNT), "all-gather"); /* in place on rank 0 only */
    assert_refused(all_gather(TYPE_F32, memory + RANKS * COUNT - 1, memory, COUNT), "all-gather");
    assert_refused(reduce_scatter(TYPE_F32, memory, memory + 2 * COUNT, COUNT), "reduce-scatter");
    assert_refused(broadcast(TYPE_F32, 1, memory, memory + COUNT - 1, COUNT), "broadcast");
    assert_refused(send_receive(TYPE_F32, 0, memory, 2, memory, COUNT), "send-receive");
}
