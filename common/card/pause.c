#include "card/pause.h"

#include "card/brief.h"
#include "card/card.h"
#include "card/frequency.h"
#include "card/sweep.h"
#include "device/device.h"
#include "model/shape_bench.h"
#include "world/world.h"

#include <math.h>

/* After the first pause most of a small model's data is still in the caches; after the second hardly any is. */
static const double SHORT_S = 5e-3, LONG_S = 30e-3;

enum { PAIRS = 2, SUMS = 3 };

/* Steps of a rank that may pause before each. */
struct paused_steps {
    const struct own_where *where;
    double pause;
};

static void rest(double pause)
{
    if (pause > 0 && !card_is_brief())
        world_sleep(pause);
}

/* Return the seconds of a local step after a pause, which all ranks begin together. */
static double time_step(const struct own_where *where, double pause)
{
    rest(pause);
    world_barrier(where->together);
    const double began = world_now();
    shape_bench_step(where->steps);
    const double seconds = world_now() - began;
    world_heartbeat(where->together);
    return seconds;
}

static double measure_steps(const struct own_where *where, double pause)
{
    const int pairs = card_times(PAIRS);
    double lost = 0;
    time_step(where, 0);
    for (int i = 0; i < pairs; i++) {
        lost -= time_step(where, 0) / pairs;
        lost += time_step(where, pause) / pairs;
    }
    return lost;
}

/* Train until the next sum, and pause where a slow loader would. */
static void train_with_pause(void *argument)
{
    const struct paused_steps *steps = argument;
    shape_bench_update(steps->where->steps);
    rest(steps->pause);
    shape_bench_fetch(steps->where->steps);
    shape_bench_passes(steps->where->steps);
}

/* Return the mean seconds of all-reduces of the gradients in steps that pause, on the first rank; 0 on the others. */
static double time_sums(const struct own_where *where, double pause)
{
    struct paused_steps steps = { where, pause };
    const size_t bytes = (size_t)workload_gradient_bytes(where->workload);
    const struct sweep_call call = { .kind = ALL_REDUCE, .bytes = (double)bytes };
    const struct sweep sweep = { .calls = &call,
                                 .count = 1,
                                 .warmups = 1,
                                 .repeats = card_times(SUMS),
                                 .has_means = true,
                                 .is_unchecked = true,
                                 .between = train_with_pause,
                                 .argument = &steps,
                                 .written = shape_bench_trainer(where->steps)->gradients,
                                 .written_bytes = bytes };
    double seconds = 0;
    sweep_measure(where->together, &sweep, &seconds);
    return world_rank(where->together) == 0 ? seconds : 0;
}

double pause_measure(const struct own_where *where, int which)
{
    const int ranks = world_size(where->together);
    double lost = 0;
    if (world_is_simulated())
        return 0;
    if (which != PAUSE_SUM)
        lost = measure_steps(where, which == PAUSE_SHORT ? SHORT_S : LONG_S);
    else if (ranks > 1)
        lost = ranks * (time_sums(where, LONG_S) -
                        time_sums(where, 0)); /* of the first rank, and 0 of the others: a mean is taken */
    frequency_recover();
    return lost;
}

const struct own_cost pause_costs[] = { PAUSE_COSTS, { 0 } };

double pause_lost(const struct card *card, double seconds)
{
    const double few = fmax(0, card_cost(card, "pause_5ms_s")), many = fmax(few, card_cost(card, "pause_30ms_s"));
    if (seconds <= SHORT_S)
        return few * fmax(0, seconds) / SHORT_S;
    return few + (many - few) * fmin(1, (seconds - SHORT_S) / (LONG_S - SHORT_S));
}

double pause_lost_sum(const struct card *card, double seconds)
{
    const double all = pause_lost(card, LONG_S), sum = fmax(0, card_cost(card, "pause_sum_s"));
    return all > 0 ? sum * pause_lost(card, seconds) / all : 0;
}
