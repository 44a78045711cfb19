#include "card/call_times.h"

#include "base/memory.h"
#include "base/stats.h"
#include "card/brief.h"
#include "card/frequency.h"
#include "device/device.h"
#include "world/world.h"

#include <stdlib.h>

void events_begin(int events)
{
    device_clock_sync_begin();
    device_reserve_events((size_t)events);
}

double events_between(double begin, double end)
{
    return device_event_seconds(end) - device_event_seconds(begin);
}

double repeated_call_seconds(struct call_times how, void (*call)(const void *of), const void *of, struct world *world)
{
    how.repeats = card_times(how.repeats);
    double *seconds = memory_new((size_t)how.repeats, sizeof *seconds);
    events_begin(2 * (how.warmups + how.repeats));
    for (int i = -how.warmups; i < how.repeats; i++) {
        const double began = device_record_event();
        for (int j = 0; j < how.calls; j++)
            call(of);
        const double end = device_record_event();
        device_wait();
        if (i >= 0)
            seconds[i] = events_between(began, end) / how.calls;
        world_heartbeat(world);
    }
    const double median = stats_quantile(seconds, how.repeats, 0.5);
    free(seconds);
    return median;
}

/* (rows, width) x (width, width) */
struct product {
    float *x, *w, *out;
    int rows, width;
};

static void run_product(const void *product)
{
    const struct product *p = product;
    device_multiply(p->out, p->x, p->w, p->rows, p->width, p->width);
}

double product_seconds(int rows, int width, int repeats, struct world *world)
{
    const size_t some = (size_t)rows * (size_t)width, matrix = (size_t)width * (size_t)width;
    struct product p = { device_new(MEMORY_MEASURING, some, sizeof(float)),
                         device_new(MEMORY_MEASURING, matrix, sizeof(float)),
                         device_new(MEMORY_MEASURING, some, sizeof(float)), rows, width };
    const double seconds = repeated_call_seconds((struct call_times){ 0, repeats, 1 }, run_product, &p, world);
    device_free(p.x);
    device_free(p.w);
    device_free(p.out);
    return seconds;
}

double product_measure(const struct own_where *where, int which)
{
    enum { OF_CORE = 512, OF_GPU = 4096, REPEATS = 3 };
    const int side = device_is_asynchronous() && !card_is_brief() ? OF_GPU : OF_CORE;
    (void)which;
    const double seconds = product_seconds(side, side, REPEATS, where->together);
    frequency_recover();
    return 2.0 * side * side * side / seconds;
}
