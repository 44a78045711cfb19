/* Cost of instrumentation: reading the clock, recording a phase, and all of the harness's work per step
 * (ranks/ranks_share.c). */
#include "jobs.h"

#include "base/memory.h"
#include "collective/spans.h"
#include "device/device.h"
#include "world/world.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 50, CALLS = 10000, STARTS = 12 };

static double seconds_of_ours(void)
{
    double began = world_now(), last = began;
    for (int i = 0; i < CALLS; i++)
        last = world_now();
    return (last - began) / CALLS;
}

static double seconds_of_phase(struct spans *spans)
{
    spans_restart(spans, 0, 0);
    double began = world_now();
    for (int i = 0; i < CALLS; i++)
        spans_phase(spans, SPAN_FORWARD, device_record_event());
    return (world_now() - began) / CALLS;
}

static double seconds_of_clock(void)
{
    double began = world_now();
    struct timespec t;
    for (int i = 0; i < CALLS; i++)
        clock_gettime(CLOCK_MONOTONIC, &t);
    return (world_now() - began) / CALLS;
}

void bench_harness(struct bench *bench)
{
    int rounds = bench_rounds(bench, ROUNDS);
    double *values = memory_new(3 * (size_t)rounds, sizeof *values);
    double *stamp = values, *phase = stamp + rounds, *theirs = phase + rounds;
    struct spans spans;
    spans_open(&spans, CALLS);
    rows_heading("What measuring costs");
    for (int i = 0; i < rounds; i++) {
        stamp[i] = seconds_of_ours();
        phase[i] = seconds_of_phase(&spans);
        theirs[i] = seconds_of_clock();
    }
    rows_add_rounds(&bench->rows, memory_text("a stamp against clock_gettime, ns"), 1e9, stamp, theirs, rounds,
                    (double)NAN);
    rows_add_rounds(&bench->rows, memory_text("a phase that begins, against clock_gettime, ns"), 1e9, phase, theirs,
                    rounds, (double)NAN);
    spans_close(&spans);
    free(values);
    jobs_add_rows(bench, &(struct ranks_job){ .name = "share", .ranks = 1, .starts = STARTS });
}
