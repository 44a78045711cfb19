/* What looking costs: a clock that is read, a phase that is noted. */
#include "bench.h"

#include "memory.h"
#include "world.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 50, CALLS = 10000 };

static double seconds_of_ours(void)
{
    double began = world_now(), last = began;
    for (int i = 0; i < CALLS; i++)
        last = world_now();
    return (last - began) / CALLS;
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
    double *ours = memory_new((size_t)rounds, sizeof *ours), *theirs = memory_new((size_t)rounds, sizeof *theirs);
    rows_heading("What looking costs");
    for (int i = 0; i < rounds; i++) {
        ours[i] = seconds_of_ours();
        theirs[i] = seconds_of_clock();
    }
    rows_add_rounds(&bench->rows, memory_text("a stamp against clock_gettime, ns"), 1e9, ours, theirs, rounds,
                    (double)NAN);
    free(ours);
    free(theirs);
}
