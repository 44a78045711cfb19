#include "card/machine_probes.h"

#include "base/interference.h"
#include "base/memory.h"
#include "base/stats.h"
#include "card/brief.h"
#include "collective/spans.h"
#include "device/device.h"
#include "world/world.h"

#include <math.h>
#include <stdlib.h>

enum { COPIED_BYTES = 32 << 20 }; /* per buffer: beyond one core's share of the caches */

/* Return the seconds by which a sleep of `seconds` lasts too long. */
static double overshoot(double seconds, int sleeps)
{
    double *over = memory_new((size_t)sleeps, sizeof *over);
    for (int i = 0; i < sleeps; i++) {
        double begin = world_now();
        world_sleep(seconds);
        over[i] = world_now() - begin - seconds;
    }
    const double median = stats_quantile(over, sleeps, 0.5);
    free(over);
    return median;
}

static void measure_sleeps(struct card *card)
{
    enum { SLEEPS = 5, SHORT_SLEEPS = 15, BRIEF_SLEEPS = 50 };
    const double longer = 30e-3, over = overshoot(SLEEP_LONG_S, SLEEPS), over_longer = overshoot(longer, SLEEPS);
    card->sleep_excess = fmax(0, (over_longer - over) / (longer - SLEEP_LONG_S));
    card->sleep_overshoot = fmax(0, over - card->sleep_excess * SLEEP_LONG_S);
    if (device_computes()) {
        card->sleeps.short_over = overshoot(SLEEP_SHORT_S, SHORT_SLEEPS);
        card->sleeps.brief_over = overshoot(SLEEP_BRIEF_S, BRIEF_SLEEPS);
    }
}

/* Return the program's cost of a stamp in seconds. The cost in a GPU's own order of work is not included. */
static double measure_stamp(void)
{
    enum { STAMPS = 2000, WARMUPS = 1, TIMES = 5 };
    double took[TIMES];
    struct spans spans;
    spans_open(&spans, STAMPS);
    for (int i = -WARMUPS; i < TIMES; i++) {
        spans_restart(&spans, 0, 0);
        double begin = world_now();
        for (int stamp = 0; stamp < STAMPS; stamp++)
            spans_phase(&spans, SPAN_DATA, device_record_event());
        if (i >= 0)
            took[i] = (world_now() - begin) / STAMPS;
    }
    spans_close(&spans);
    return stats_quantile(took, TIMES, 0.5);
}

void machine_probes_measure_clock(struct card *card)
{
    card->stamp_cost = measure_stamp();
    measure_sleeps(card);
}

/* Return the seconds since `began`, without those in which other programs had this rank's core since `queued`. What is measured lasts
 * longer than a time slice, so medians would not leave that out. Simulated ranks are charged CPU time anyway. */
static double undisturbed_since(double began, double queued)
{
    return world_now() - began - (world_is_simulated() ? 0 : interference_run_queue_delay() - queued);
}

/* Return this rank's seconds of copying COPIED_BYTES, or fewer for a brief card. */
static double measure_copy(struct world *world)
{
    enum { TIMES = 5 };
    const int times = card_times(TIMES);
    const size_t copied = card_size(COPIED_BYTES);
    float *from = device_new(MEMORY_MEASURING, copied, 1), *to = device_new(MEMORY_MEASURING, copied, 1);
    double copying[TIMES];
    device_clock_sync_begin();
    for (int i = 0; i < times; i++) {
        const double queued = interference_run_queue_delay(), began = world_now(), begin = device_record_event();
        device_copy(to, from, copied / sizeof *to);
        const double end = device_record_event();
        copying[i] = undisturbed_since(began, queued);
        device_wait();
        if (device_is_asynchronous())
            copying[i] = device_event_seconds(end) - device_event_seconds(begin);
        world_heartbeat(world);
    }
    device_free(from);
    device_free(to);
    return stats_quantile(copying, times, 0.5);
}

void machine_probes_measure_memory(struct card *card, struct world *world)
{
    int ranks = world_size(world);
    world_barrier(world);
    double mine = measure_copy(world), mean = 0, *all = memory_new((size_t)ranks, sizeof *all);
    world_gather(world, &mine, sizeof mine, all);
    if (world_rank(world) == 0) {
        for (int rank = 0; rank < ranks; rank++)
            mean += all[rank] / ranks;
        card->copy_bandwidth = 2 * (double)card_size(COPIED_BYTES) / mean;
    }
    free(all);
}

double machine_probes_bytes(void)
{
    return 2 * (double)card_size(COPIED_BYTES);
}
