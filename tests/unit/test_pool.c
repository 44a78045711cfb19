/* Memory that is taken for a while and given back. */
#include "base/die.h"
#include "device/pool.h"
#include "support/ending.h"
#include "support/on_device.h"
#include "support/unit.h"

enum { KB = 1000 };

static size_t held(enum memory_owner owner)
{
    return ledger_now(MEMORY_HOST).of[owner];
}

TEST(what_is_given_back_is_taken_again)
{
    struct pool *pool = pool_open();
    pool_reserve(pool, KB, 2);
    assert_int_equal(held(MEMORY_CACHED), 2 * KB);
    void *first = pool_take(pool, KB, MEMORY_ACTIVATIONS), *second = pool_take(pool, KB, MEMORY_COMMUNICATION);
    assert_int_equal(held(MEMORY_CACHED), 0);
    assert_int_equal(held(MEMORY_ACTIVATIONS), KB);
    pool_give(pool, KB, first);
    assert_int_equal(held(MEMORY_ACTIVATIONS), 0);
    assert_ptr_equal(pool_take(pool, KB, MEMORY_DATA), first);
    assert_int_equal(held(MEMORY_DATA), KB);
    pool_give(pool, KB, first);
    pool_give(pool, KB, second);
    pool_give(pool, KB, NULL);
    pool_close(pool);
    assert_int_equal(held(MEMORY_CACHED), 0);
}

/* Another size has pieces of its own; more than are reserved are allocated. */
TEST(a_pool_grows)
{
    struct pool *pool = pool_open();
    void *pieces[40], *other = pool_take(pool, 2 * KB, MEMORY_DATA);
    for (int i = 0; i < 40; i++)
        pieces[i] = pool_take(pool, KB, MEMORY_DATA);
    for (int i = 0; i < 40; i++)
        pool_give(pool, KB, pieces[i]);
    assert_int_equal(held(MEMORY_CACHED), 40 * KB);
    assert_int_equal(held(MEMORY_DATA), 2 * KB);
    pool_give(pool, 2 * KB, other);
    pool_close(pool);
}

/* Memory that a pool keeps is not in use, and makes no peak. */
TEST(a_peak_is_of_what_is_in_use)
{
    struct pool *pool = pool_open();
    pool_reserve(pool, KB, 3);
    ledger_restart_peak();
    void *piece = pool_take(pool, KB, MEMORY_ACTIVATIONS);
    pool_give(pool, KB, piece);
    const struct ledger_sums peak = ledger_peak(MEMORY_HOST).sums;
    assert_int_equal(peak.of[MEMORY_ACTIVATIONS], KB);
    assert_int_equal(peak.of[MEMORY_CACHED], 2 * KB);
    pool_close(pool);
}

/* A model that only measures keeps its owner while it trains. */
TEST(an_owner_that_was_forced_stays)
{
    struct pool *pool = pool_open();
    ledger_override_owner(MEMORY_MEASURING);
    pool_reserve(pool, KB, 1);
    ledger_override_owner(MEMORY_OWNERS);
    void *piece = pool_take(pool, KB, MEMORY_ACTIVATIONS);
    assert_int_equal(held(MEMORY_MEASURING), KB);
    assert_int_equal(held(MEMORY_ACTIVATIONS), 0);
    pool_give(pool, KB, piece);
    pool_close(pool);
}

static void keep_a_piece(const void *unused)
{
    (void)unused;
    struct pool *pool = pool_open();
    pool_take(pool, KB, MEMORY_DATA);
    pool_close(pool);
}

TEST(a_piece_that_is_missing_is_noticed)
{
    const struct ending ending = ending_of(keep_a_piece, NULL);
    assert_int_equal(ending.status, STATUS_WRONG);
    assert_holds(ending.err, "1 of 1 pieces of 1000 bytes were not given back");
}

AROUND_TESTS(open_device, device_close)
