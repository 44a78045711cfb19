#include "analysis/split.h"

#include "base/memory.h"
#include "base/stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

const char *const split_names[SPLIT_TERMS] = { "data", "compute", "host", "wait", "transfer" };
static const char *const together_names[] = { "data", "compute", "host", "communication" };

const struct step_means step_means_unknown = { NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN };

/* Return a rank's own work of this kind. */
static double work_of(const struct cell *sum, int kind)
{
    return kind == SPLIT_DATA      ? sum->phase[SPAN_DATA]
           : kind == SPLIT_COMPUTE ? sum->phase[SPAN_FORWARD] + sum->phase[SPAN_BACKWARD] + sum->phase[SPAN_UPDATE]
                                   : sum->phase[SPAN_HOST] + sum->phase[SPAN_OTHER];
}

struct step_means step_means_of(const struct cell *sums, int ranks, int steps)
{
    struct step_means mean = { 0 };
    const double count = (double)steps * ranks;
    for (int rank = 0; rank < ranks; rank++) {
        const struct cell *sum = &sums[rank];
        mean.step += sum->step / count;
        mean.data += work_of(sum, SPLIT_DATA) / count;
        mean.local += work_of(sum, SPLIT_COMPUTE) / count;
        mean.update += sum->phase[SPAN_UPDATE] / count;
        mean.host += work_of(sum, SPLIT_HOST) / count;
        mean.wait += sum->wait / count;
        mean.transfer += sum->transfer / count;
        mean.exposed += sum->exposed / count;
    }
    return mean;
}

void late_work_add(struct late_work *late, const struct cell *sums, int ranks)
{
    int last = 0, most = 0;
    double longest = 0, excess[SPLIT_WORKS], net = 0;
    for (int rank = 0; rank < ranks; rank++) {
        last = sums[rank].caused > sums[last].caused ? rank : last;
        longest = fmax(longest, sums[rank].wait);
    }
    if (ranks < 2 || !(sums[last].caused > 0))
        return;
    double *others = memory_new((size_t)ranks - 1, sizeof *others);
    for (int kind = 0; kind < SPLIT_WORKS; kind++) {
        for (int rank = 0, at = 0; rank < ranks; rank++)
            if (rank != last)
                others[at++] = work_of(&sums[rank], kind);
        excess[kind] = work_of(&sums[last], kind) - stats_lower_median(others, ranks - 1);
        net += excess[kind];
        most = excess[kind] > excess[most] ? kind : most;
    }
    free(others);
    late->excess[most] += fmax(0, fmin(excess[most], net));
    late->longest_wait += longest;
}

void late_work_join(struct late_work *all, const struct late_work *late)
{
    for (int kind = 0; kind < SPLIT_WORKS; kind++)
        all->excess[kind] += late->excess[kind];
    all->longest_wait += late->longest_wait;
}

int late_work_by(const struct late_work *late)
{
    int most = 0;
    for (int kind = 1; kind < SPLIT_WORKS; kind++)
        most = late->excess[kind] > late->excess[most] ? kind : most;
    return late->longest_wait > 0 && late->excess[most] >= late->longest_wait / 2 ? most : -1;
}

struct split_step split_of(const struct step_means *mean, const struct late_work *late, int ranks, int steps)
{
    const bool is_together = isnan(mean->wait) || isnan(mean->transfer);
    struct split_step split = { .step = mean->step,
                                .term = { mean->data, mean->local, mean->host, is_together ? mean->exposed : mean->wait,
                                          is_together ? (double)NAN : mean->transfer },
                                .is_together = is_together };
    for (int kind = 0; kind < SPLIT_WORKS; kind++) {
        const double excess = late->excess[kind] / ((double)ranks * steps);
        split.term[kind] -= excess;
        split.term[SPLIT_WAIT] += excess;
    }
    return split;
}

struct bound_by split_bound(const struct split_step *of, int rounds)
{
    bool is_together = false;
    for (int round = 0; round < rounds; round++)
        is_together |= of[round].is_together;
    const int terms = is_together ? SPLIT_TRANSFER : SPLIT_TERMS;
    double *shares = memory_new((size_t)rounds * (size_t)terms, sizeof *shares);
    for (int round = 0; round < rounds; round++)
        for (int term = 0; term < terms; term++) {
            double seconds = of[round].term[term];
            if (is_together && !of[round].is_together && term == SPLIT_WAIT)
                seconds += of[round].term[SPLIT_TRANSFER];
            shares[round * terms + term] = of[round].step > 0 ? seconds / of[round].step : 0;
        }
    const struct bound_by bound = bound_by_shares(is_together ? together_names : split_names, shares, rounds, terms);
    free(shares);
    return bound;
}
