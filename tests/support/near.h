/* near.h: assert that a number is the expected one, exactly or nearly. A failure shows both; NaN always fails. */
#ifndef LOCKSTEP_NEAR_H
#define LOCKSTEP_NEAR_H

#include "support/unit.h"

#include <math.h>

static inline void assert_exactly(double value, double expected)
{
    if (!(value <= expected && value >= expected))
        fail_msg("%.17g is not %.17g", value, expected);
}

static inline void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g is not within %g of %.17g", value, tolerance, expected);
}

/* Likewise, but the tolerance is this part of the expected number. */
static inline void assert_relatively_near(double value, double expected, double part)
{
    assert_near(value, expected, part * fabs(expected));
}

#endif
