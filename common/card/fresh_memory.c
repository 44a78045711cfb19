#include "card/fresh_memory.h"

#include "card/brief.h"
#include "card/card.h"
#include "device/device.h"
#include "world/world.h"

#include <math.h>

static double once(size_t bytes)
{
    const double began = world_now();
    void *fresh = device_map(MEMORY_MEASURING, bytes);
    device_fill(fresh, 1, bytes / sizeof(float));
    device_wait();
    device_unmap(fresh, bytes);
    return world_now() - began;
}

/* Map the pages that were released just before, like a step that maps memory each time. Other pages may cost 1.5 times as much: a
 * virtual machine may have returned them to its host. */
double fresh_measure(const struct own_where *where, int which)
{
    enum { TIMES = 2 };
    (void)where;
    (void)which;
    const size_t bytes = card_size(FRESH_BYTES);
    double seconds = 0;
    device_wait();
    once(bytes);
    for (int i = 0; i < TIMES; i++)
        seconds += once(bytes) / TIMES;
    return seconds / (double)bytes;
}

double fresh_seconds(const struct card *card, double bytes)
{
    const double each = card_cost(card, "fresh_byte_s");
    return each > 0 ? each * bytes : 0; /* NaN: modelled */
}
