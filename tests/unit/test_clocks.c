/* test_clocks.c: test the conversion of times between hosts, with known clock differences and times as large as those of
 * a machine that has run for weeks. */
#include "support/near.h"
#include "support/unit.h"
#include "world/clocks.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

/* The largest difference below a nanosecond; doubles near a million seconds are finer. */
static const double UNDER_NANOSECOND = 1e-9 * (1 - DBL_EPSILON);

TEST(a_host_by_itself_keeps_its_time)
{
    struct clocks clocks = { 0 };
    assert_near(clocks_first(&clocks, 1234567.25), 1234567.25, UNDER_NANOSECOND);
    assert_near(clocks_error(&clocks), 0, UNDER_NANOSECOND);
}

TEST(a_clock_that_is_behind_is_put_forward)
{
    struct clocks clocks = { .before = { .here = 500, .ahead = 1000, .error = 20e-6 },
                             .after = { .here = 510, .ahead = 1000, .error = 50e-6 } };
    assert_near(clocks_first(&clocks, 503), 1503, UNDER_NANOSECOND);
    assert_near(clocks_error(&clocks), 50e-6, UNDER_NANOSECOND);
}

/* Drift by 30 ppm: 0.9 ms in half a minute. */
TEST(drift_is_taken_to_be_even)
{
    struct clocks clocks = { .before = { .here = 1000000, .ahead = -400, .error = 10e-6 },
                             .after = { .here = 1000010, .ahead = -400 + 300e-6, .error = 10e-6 } };
    assert_near(clocks_first(&clocks, 1000000), 999600, UNDER_NANOSECOND);
    assert_near(clocks_first(&clocks, 1000005), 999605 + 150e-6, UNDER_NANOSECOND);
    assert_near(clocks_first(&clocks, 1000010), 999610 + 300e-6, UNDER_NANOSECOND);
    assert_near(clocks_error(&clocks), 10e-6 + 150e-6, UNDER_NANOSECOND);
}

/* Times of two hosts may be wrong in opposite directions, so the errors of both count. The first host converts nothing. */
TEST(the_errors_of_two_hosts_add_up)
{
    assert_near(clocks_disagreement((double[]){ 0, 40e-6 }, 2), 40e-6, UNDER_NANOSECOND);
    assert_near(clocks_disagreement((double[]){ 0, 40e-6, 30e-6 }, 3), 70e-6, UNDER_NANOSECOND);
    assert_near(clocks_disagreement((double[]){ 0, 30e-6, 40e-6, 10e-6 }, 4), 70e-6, UNDER_NANOSECOND);
    assert_near(clocks_disagreement((double[]){ 0, 40e-6, 40e-6 }, 3), 80e-6, UNDER_NANOSECOND);
}

TEST(the_error_is_printed)
{
    char *text = clocks_text(45e-6);
    assert_string_equal(text, "agree within 0.045 ms; shorter waits count as transfer");
    free(text);
}
