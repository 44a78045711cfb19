#include "card/handoff.h"

#include "base/memory.h"
#include "world/async_helper.h"
#include "world/world.h"

#include <stdlib.h>

static void nothing(void *context)
{
    (void)context;
}

static void rest_a_while(struct handoff_rest rest, char *touched)
{
    enum { LINE = 64 };
    world_spin(rest.seconds);
    for (size_t i = 0; i < rest.bytes; i += LINE)
        ++*(volatile char *)&touched[i];
}

double handoff_measure(struct async_helper *helper, struct handoff_rest rest, int calls)
{
    char *touched = memory_new(rest.bytes, 1);
    double times[2];
    for (int with = 0; with < 2; with++) {
        const double began = world_now();
        for (int i = 0; i < calls; i++) {
            if (with) {
                async_helper_end(helper);
                async_helper_begin(helper, nothing, (void *)0);
            }
            rest_a_while(rest, touched);
        }
        async_helper_end(helper);
        times[with] = world_now() - began;
    }
    free(touched);
    return (times[1] - times[0]) / calls;
}
