#include "frame/timeouts.h"

#include "device/device.h"

#include <math.h>

/* In seconds. What the work takes is counted for two cores that are slow for it. */
static const double stall = 60;      /* the longest that a lab's options allow a rank in a step */
static const double base = 120;      /* such a stall, where a mean hides it; a swamped machine, a slow disk */
static const double times = 10;      /* what is expected: shared machines run so much slower for a while */
static const double join = 0.05;     /* per rank: 64 processes of mpirun's, 256 copies of the program in SMPI's */
static const double slowest = 10e9;  /* flop/s */
static const double disk = 20e6;     /* bytes/s */
static const double sweep = 4e-4;    /* of a simulated card, per pair of ranks: 256 ranks take 25 */
static const double exchange = 4e-5; /* of a simulated step, likewise: 256 ranks take 13 for 5 steps */

/* A card trains the shapes of its subject six times alone and six times together before the ranks meet: in batches of the run's
 * (calibrate.c). */
enum { CARD_BATCHES = 60 };

static double patience(const struct run *run, double expected)
{
    return run->deadline_s > 0 ? run->deadline_s : base + times * expected;
}

/* Seconds of forward and backward, before anything was measured. */
static double batch_of(const struct run *run, const struct workload *workload)
{
    return device_computes() ? workload->flops(run, workload->usual(run)) / slowest : 0;
}

double timeout_to_start(const struct run *run)
{
    return patience(run, join * run->ranks);
}

double timeout_for_card(const struct run *run, const struct workload *workload, bool is_simulated)
{
    double expected = CARD_BATCHES * batch_of(run, workload) * (run->takes_turns ? run->ranks : 1);
    if (is_simulated)
        expected += sweep * run->ranks * run->ranks;
    return patience(run, expected);
}

double timeout_for_block(const struct run *run, const struct workload *workload, double step, struct window window,
                         bool has_signs, bool is_simulated)
{
    int steps = has_signs ? run->sync_every : window.warmup + window.measured;
    if (!isfinite(step))
        step = stall + batch_of(run, workload);
    double expected = device_computes() ? step * steps : 0;
    if (is_simulated) /* all ranks compute one after another, and exchange in one process */
        expected = run->ranks * (expected + exchange * run->ranks * steps);
    return patience(run, expected);
}

double timeout_to_write(const struct run *run, size_t bytes)
{
    return patience(run, (double)bytes / disk);
}
