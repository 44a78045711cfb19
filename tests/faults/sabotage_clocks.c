/* Linked in place of clocks_first(): every host's clock is taken for rank 0's. */
#include "world/clocks.h"

double __wrap_clocks_first(const struct clocks *clocks, double here);

double __wrap_clocks_first(const struct clocks *clocks, double here)
{
    (void)clocks;
    return here;
}
