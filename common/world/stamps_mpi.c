#include "world/stamps.h"

#include "base/die.h"
#include "base/files.h"
#include "base/hot.h"
#include "world/world.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* Comparisons less than this many times their errors apart do not tell the counter's rate. */
static const double APART = 1e4;

/* The counter's `count` at `time` on the world's clock, +- `error`. */
struct anchor {
    double count, time, error;
};

/* The process's counter. A static variable, because a process has one, and stamp_now() takes no argument. */
static struct {
    bool is_counter;
    uint64_t origin;          /* counts before stamps_open(); the others fit into a double */
    struct anchor begin, end; /* of the block; before the first one, by stamps_open() */
    double rate;              /* seconds per count; 0: not known yet */
} stamps;

HOT static uint64_t read_counter(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#else
    return 0;
#endif
}

static bool linux_trusts_counter(void)
{
#if defined(__x86_64__)
    char *source = file_read("/sys/devices/system/clocksource/clocksource0/current_clocksource", NULL);
    bool is_counter = source && strcmp(source, "tsc\n") == 0;
    free(source);
    return is_counter;
#else
    return false;
#endif
}

HOT double stamp_now(void)
{
    return stamps.is_counter ? (double)(int64_t)(read_counter() - stamps.origin) : world_now();
}

/* Try a few times; more often if others have the core in each try. */
static struct anchor compare(void)
{
    enum { TRIES = 16, TRIES_MOST = 1000 };
    const double good = 1e-6; /* seconds */
    struct anchor best = { .error = INFINITY };
    for (int i = 0; i < TRIES || (best.error > good && i < TRIES_MOST); i++) {
        double before = world_now(), count = stamp_now(), after = world_now();
        if ((after - before) / 2 < best.error)
            best = (struct anchor){ count, (before + after) / 2, (after - before) / 2 };
    }
    return best;
}

/* Take the counter's rate from two comparisons, if they are far enough apart. */
static void learn_rate(const struct anchor *from, const struct anchor *to)
{
    if (to->time - from->time >= APART * (from->error + to->error))
        stamps.rate = (to->time - from->time) / (to->count - from->count);
}

void stamps_open(void)
{
    stamps.is_counter = linux_trusts_counter();
    stamps.origin = read_counter();
    stamps.begin = stamps.end = compare();
}

/* The first time, learn the rate since stamps_open(). Later the last block's rate holds until stamps_end(). */
void stamps_begin(void)
{
    if (!stamps.is_counter)
        return;
    do {
        stamps.end = compare();
        if (stamps.rate <= 0)
            learn_rate(&stamps.begin, &stamps.end);
    } while (stamps.rate <= 0);
    stamps.begin = stamps.end;
}

void stamps_end(void)
{
    if (!stamps.is_counter)
        return;
    const double most = 0.01; /* relative change of the rate; clocks that are adjusted change by less */
    stamps.end = compare();
    const double passed = stamps.end.time - stamps.begin.time,
                 counted = (stamps.end.count - stamps.begin.count) * stamps.rate;
    if (fabs(counted - passed) > most * passed + stamps.begin.error + stamps.end.error)
        die(STATUS_CANNOT, "the processor counted %.3f s in %.3f s of the clock, as when a machine sleeps; start again",
            counted, passed);
    learn_rate(&stamps.begin, &stamps.end);
}

double stamp_seconds(double stamp)
{
    if (!stamps.is_counter)
        return stamp;
    if (stamps.rate <= 0)
        stamps_begin();
    return stamps.begin.time + (stamp - stamps.begin.count) * stamps.rate;
}

double stamps_error(void)
{
    return stamps.is_counter ? fmax(stamps.begin.error, stamps.end.error) : 0;
}
