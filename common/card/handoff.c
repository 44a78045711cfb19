#include "card/handoff.h"

#include "world/async_helper.h"
#include "world/world.h"

static void nothing(void *context)
{
    (void)context;
}

double handoff_measure(struct async_helper *helper, double rest, int calls)
{
    double times[2];
    for (int with = 0; with < 2; with++) {
        const double began = world_now();
        for (int i = 0; i < calls; i++) {
            if (with) {
                async_helper_end(helper);
                async_helper_begin(helper, nothing, (void *)0);
            }
            world_spin(rest);
        }
        async_helper_end(helper);
        times[with] = world_now() - began;
    }
    return (times[1] - times[0]) / calls;
}
