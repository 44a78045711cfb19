/* Cost of a stamp and of recording a phase, against clock_gettime. */
#include "ranks.h"

#include "base/memory.h"
#include "collective/spans.h"
#include "device/device.h"
#include "world/world.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 10, CALLS = 10000 };

static double time_stamp(struct spans *spans)
{
    (void)spans;
    double began = world_now();
    for (int i = 0; i < CALLS; i++)
        device_record_event();
    return (world_now() - began) / CALLS;
}

static double time_phase(struct spans *spans)
{
    spans_restart(spans, 0, 0);
    double began = world_now();
    for (int i = 0; i < CALLS; i++)
        spans_phase(spans, SPAN_FORWARD, device_record_event());
    return (world_now() - began) / CALLS;
}

static double time_clock(struct spans *spans)
{
    (void)spans;
    double began = world_now();
    struct timespec t;
    for (int i = 0; i < CALLS; i++)
        clock_gettime(CLOCK_MONOTONIC, &t);
    return (world_now() - began) / CALLS;
}

void ranks_clocks(struct ranks *ranks)
{
    static double (*const ways[])(struct spans * spans) = { time_stamp, time_clock, time_phase };
    enum { STAMP, CLOCK, PHASE, WAYS };
    int rounds = ranks_rounds(ranks, ROUNDS);
    double *values = memory_new(WAYS * (size_t)rounds, sizeof *values);
    struct spans spans;
    spans_open(&spans, CALLS);
    for (int round = 0; round < rounds; round++)
        for (int turn = 0; turn < WAYS; turn++) {
            int way = round % 2 ? WAYS - 1 - turn : turn;
            values[way * rounds + round] = ways[way](&spans);
        }
    const double *clock = values + (ptrdiff_t)CLOCK * rounds;
    ranks_found(ranks, "a stamp against clock_gettime, ns", 1e9, (double)NAN, values, clock, rounds);
    ranks_found(ranks, "a phase that begins, against clock_gettime, ns", 1e9, (double)NAN,
                values + (ptrdiff_t)PHASE * rounds, clock, rounds);
    spans_close(&spans);
    free(values);
}
