/* between.h: assert that an integer lies in a range, both ends included. (cmocka 2 has two names for this; before 2 the
 * name was assert_in_range.) */
#ifndef LOCKSTEP_BETWEEN_H
#define LOCKSTEP_BETWEEN_H

#include "support/unit.h"

static inline void assert_between(long long value, long long least, long long most)
{
    if (value < least || value > most)
        fail_msg("%lld is not from %lld to %lld", value, least, most);
}

#endif
