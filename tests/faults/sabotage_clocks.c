/* sabotage_clocks.c: replace clocks_first() so that every host's clock counts as rank 0's. */
#include "world/clocks.h"

double __wrap_clocks_first(const struct clocks *clocks, double here);

double __wrap_clocks_first(const struct clocks *clocks, double here)
{
    (void)clocks;
    return here;
}
