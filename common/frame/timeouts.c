#include "frame/timeouts.h"

#include "device/device.h"

#include <math.h>

/* Seconds unless noted. Work is estimated for two slow cores. */
static const double stall = 60;      /* longest stall in a step that a lab's options allow */
static const double base = 120;      /* margin: a stall hidden in a mean, an overloaded machine, a slow disk */
static const double times = 10;      /* factor: shared machines are this much slower for a while */
static const double join = 0.05;     /* per rank: mpirun starts 64 processes, SMPI 256 copies of the program */
static const double slowest = 10e9;  /* flop/s */
static const double disk = 20e6;     /* bytes/s */
static const double sweep = 4e-4;    /* simulated card, per pair of ranks: 256 ranks take 25 s */
static const double exchange = 4e-5; /* simulated step, per pair of ranks: 256 ranks take 13 s for 5 steps */

/* Work of the card before the ranks synchronise, in batches of the run: all shapes of a workload are about seven, eleven times alone and
 * eleven times together if every lap is disturbed (laps.h). */
enum { CARD_BATCHES = 150 };

static double timeout(const struct run *run, double expected)
{
    return run->deadline_s > 0 ? run->deadline_s : base + times * expected;
}

/* Estimated seconds of forward and backward, before any measurement. */
static double batch_seconds(const struct run *run, const struct workload *workload)
{
    return device_computes() ? workload_flops(workload, workload_usual(workload, run)) / slowest : 0;
}

double timeout_to_start(const struct run *run)
{
    return timeout(run, join * run->ranks);
}

double timeout_for_card(const struct run *run, const struct workload *workload, bool is_simulated)
{
    double expected = CARD_BATCHES * batch_seconds(run, workload) * (run->takes_turns ? run->ranks : 1);
    if (is_simulated)
        expected += sweep * run->ranks * run->ranks;
    return timeout(run, expected);
}

double timeout_for_block(const struct run *run, const struct workload *workload, double step, struct window window,
                         bool has_signs, bool is_simulated)
{
    int steps = has_signs ? run->cycle : window.warmup + window.measured;
    if (!isfinite(step))
        step = stall + batch_seconds(run, workload);
    double expected = device_computes() ? step * steps : 0;
    if (is_simulated) /* ranks compute one after another and exchange in one process */
        expected = run->ranks * (expected + exchange * run->ranks * steps);
    return timeout(run, expected);
}

double timeout_to_write(const struct run *run, size_t bytes)
{
    return timeout(run, (double)bytes / disk);
}
