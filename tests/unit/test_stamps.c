/* test_stamps.c: test that stamps become times on world_now()'s clock. */
#include "base/die.h"
#include "support/ending.h"
#include "support/unit.h"
#include "world/stamps.h"
#include "world/world.h"

#include <stdlib.h>

/* Seconds that the clock passed while the processor counted nothing. Static, because world_now() takes no argument. */
static double slept;

double __real_world_now(void);
double __wrap_world_now(void);
double __wrap_world_now(void)
{
    return __real_world_now() + slept;
}

enum { STAMPS = 2000 };

static const double EARLY_S = 2e-7; /* the counter is read without a fence */

static struct moment {
    double before, stamp, after;
} moment[STAMPS];

static void take_moments(void)
{
    for (int i = 0; i < STAMPS; i++) {
        moment[i].before = world_now();
        moment[i].stamp = stamp_now();
        moment[i].after = world_now();
        world_spin(1e-5);
    }
}

static int count_wrong(double error)
{
    int wrong = 0;
    for (int i = 0; i < STAMPS; i++) {
        const double time = stamp_seconds(moment[i].stamp);
        wrong += !(time >= moment[i].before - error && time <= moment[i].after + error);
    }
    return wrong;
}

static double error_without_block(void)
{
    return stamps_error() + EARLY_S + 1e-4 * (moment[STAMPS - 1].after - moment[0].before);
}

TEST(without_a_counter_a_stamp_is_the_time)
{
    stamps_begin();
    take_moments();
    stamps_end();
    assert_int_equal(count_wrong(0), 0);
    assert_float_equal(stamp_seconds(7), 7, 0);
    assert_float_equal(stamps_error(), 0, 0);
}

TEST(stamps_of_a_block_have_their_times)
{
    stamps_open();
    stamps_begin();
    take_moments();
    stamps_end();
    assert_true(stamps_error() < 1e-4);
    assert_int_equal(count_wrong(stamps_error() + EARLY_S), 0);
}

/* Probes take stamps without a block. The rate of the counter is then that since stamps_open(). */
TEST(stamps_without_a_block_have_their_times)
{
    stamps_open();
    take_moments();
    assert_int_equal(count_wrong(error_without_block()), 0);
}

/* A block of a microsecond does not tell the counter's rate. */
TEST(a_short_block_keeps_the_rate)
{
    stamps_open();
    for (int block = 0; block < 100; block++) {
        stamps_begin();
        stamps_end();
    }
    take_moments();
    assert_int_equal(count_wrong(error_without_block()), 0);
}

static void sleep_in_a_block(const void *seconds)
{
    stamps_open();
    stamps_begin();
    world_spin(5e-3);
    slept = *(const double *)seconds;
    stamps_end();
    exit(stamps_error() > 0 ? STATUS_RIGHT : STATUS_CANNOT); /* there is no counter to test */
}

/* Clocks are adjusted by less than a percent. A machine that sleeps may stop one of them, or begin it anew. */
TEST(a_machine_that_slept_ends_the_run)
{
    static const double adjusted = 3e-5, asleep[] = { 0.5, -0.004, -30 };
    const struct ending usual = ending_of(sleep_in_a_block, &adjusted);
    if (usual.status == STATUS_CANNOT)
        return;
    assert_int_equal(usual.status, STATUS_RIGHT);
    for (size_t i = 0; i < sizeof asleep / sizeof *asleep; i++) {
        const struct ending ending = ending_of(sleep_in_a_block, &asleep[i]);
        assert_int_equal(ending.status, STATUS_CANNOT);
        assert_holds(ending.err, "as when a machine sleeps; start again");
    }
}
