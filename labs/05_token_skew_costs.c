/* 05_token_skew_costs: what lab 05 adds to the machine card: how much longer ranks sum their gradients after larger batches. These leave
 * fewer gradients in the caches of the cores that sum them. */
#include "05_token_skew.h"

#include <math.h>

enum { PAIRS = 5 };
static const double LEAST_MORE = 0.25;

/* all of where->together: return the seconds of the sum after the passes of the chosen batch, from the last rank's arrival on. */
static double sum_after_passes(const struct own_where *where, struct collective *collective)
{
    const struct trainer *trainer = shape_bench_trainer(where->steps);
    shape_bench_fetch(where->steps);
    shape_bench_passes(where->steps);
    device_wait();
    const double began = world_now();
    collective_run(collective, all_reduce(TYPE_F32, trainer->gradients, trainer->gradients, trainer->count));
    device_wait();
    const double took = world_now() - began;
    shape_bench_update(where->steps);
    return seconds_of_last(where->together, took);
}

/* Return the share by which the sum grows with as many tokens more as the usual batch has. Usual batches and the card's largest ones take
 * turns. 0 if these are hardly larger, as options can make them. */
static double measure_growth(const struct own_where *where, int which)
{
    (void)which;
    if (world_size(where->together) == 1)
        return 0;
    const int usual = shape_bench_shapes(where->workload), shapes[2] = { usual, usual - 1 };
    double seconds[2][PAIRS], tokens[2];
    struct collective *collective = collective_open(where->together, NULL);
    for (int pair = -1; pair < PAIRS; pair++)
        for (int i = 0; i < 2; i++) {
            tokens[i] = shape_bench_choose(where->steps, shapes[i]).padded_tokens;
            const double took = sum_after_passes(where, collective);
            if (pair >= 0)
                seconds[i][pair] = took;
        }
    collective_close(collective);
    shape_bench_choose(where->steps, usual);
    const double longer = stats_quantile(seconds[1], PAIRS, 0.5) / stats_quantile(seconds[0], PAIRS, 0.5) - 1;
    const double more = tokens[1] / tokens[0] - 1;
    return more < LEAST_MORE ? 0 : fmax(0, longer) / more;
}

const struct own_cost own_costs[] = {
    { SUM_GROWTH_COST, OWN_STAYS, "after twice as many tokens a sum takes longer by", "%", 100, 0, measure_growth, 0 },
    { 0 },
};
