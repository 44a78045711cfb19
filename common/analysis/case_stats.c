#include "analysis/case_stats.h"

#include "base/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const char *const numerics_names[] = {
    [NUMERICS_UNKNOWN] = "",
    [NUMERICS_SAME] = "same",
    [NUMERICS_REORDERED] = "reordered",
    [NUMERICS_CHANGED] = "changed",
};

void case_stats_open(struct case_stats *stats, const struct run *run, bool is_simulated)
{
    enum { STRETCH = 4 };
    int ranks = run->ranks;
    *stats =
        (struct case_stats){ .ranks = ranks, .every = run->cycle, .is_long = run->once > 0, .is_whole = run->whole };
    stats->sum = memory_new((size_t)ranks, sizeof *stats->sum);
    culprits_open(&stats->culprits, ranks, is_simulated ? 1 : STRETCH);
    stats->loss = memory_new((size_t)ranks, sizeof *stats->loss);
    stats->samples = memory_new((size_t)ranks, sizeof *stats->samples);
    stats->queued = memory_new((size_t)ranks, sizeof *stats->queued);
}

void case_stats_close(struct case_stats *stats)
{
    free(stats->sum);
    free(stats->slowest);
    free(stats->last);
    free(stats->most_charged);
    culprits_close(&stats->culprits);
    free(stats->round);
    free(stats->loss);
    free(stats->samples);
    free(stats->queued);
    *stats = (struct case_stats){ 0 };
}

/* Move `values` (count) into new memory with room for `added` more. */
static double *grown(double *values, int count, int added)
{
    double *larger = memory_new((size_t)count + (size_t)added, sizeof *larger);
    if (count)
        memcpy(larger, values, (size_t)count * sizeof *larger);
    free(values);
    return larger;
}

static void add_cell(struct cell *sum, const struct cell *cell)
{
    sum->step += cell->step;
    for (int kind = 0; kind < SPAN_PHASES; kind++)
        sum->phase[kind] += cell->phase[kind];
    sum->exposed += cell->exposed;
    sum->wait += cell->wait;
    sum->transfer += cell->transfer;
    sum->hidden += cell->hidden;
    sum->caused += cell->caused;
    sum->last += cell->last;
}

struct step_profile step_profile_of(const struct cell *cells, int ranks)
{
    struct step_profile step = { .mean = step_means_of(cells, ranks, 1) };
    double first = INFINITY, last = -INFINITY;
    for (int rank = 0; rank < ranks; rank++) {
        step.slowest = fmax(step.slowest, cells[rank].step);
        first = fmin(first, cells[rank].begin);
        last = fmax(last, cells[rank].begin);
    }
    step.spread = last - first;
    return step;
}

/* Add one window's steps of all ranks, cells (every, ranks), to the case statistics and to the round's sums (ranks) and late
 * work. */
static void add_window(struct case_stats *stats, const struct cell *cells, struct cell *round, struct late_work *late)
{
    double slowest = 0, fastest = INFINITY, charged = 0;
    struct cell *sums = memory_new((size_t)stats->ranks, sizeof *sums);
    for (int rank = 0; rank < stats->ranks; rank++) {
        double step = 0, caused = 0;
        for (int i = 0; i < stats->every; i++) {
            const struct cell *cell = &cells[i * stats->ranks + rank];
            step += cell->step / stats->every;
            caused += cell->caused / stats->every;
            add_cell(&sums[rank], cell);
            add_cell(&round[rank], cell);
        }
        slowest = fmax(slowest, step);
        fastest = fmin(fastest, step);
        charged = fmax(charged, caused);
    }
    stats->slowest[stats->windows] = slowest;
    stats->last[stats->windows] = step_profile_of(cells + (stats->every - 1) * stats->ranks, stats->ranks);
    stats->most_charged[stats->windows++] = charged;
    stats->spread += slowest - fastest;
    late_work_add(late, sums, stats->ranks);
    free(sums);
}

void case_stats_repeat(struct case_stats *stats, uint64_t hash)
{
    if (!stats->has_hash)
        stats->hash = hash;
    else if (stats->hash != hash)
        check_failures_add(&stats->wrong, "round %d: the same steps end with other parameters than in an earlier block",
                           stats->rounds + 1);
    stats->has_hash = true;
}

/* Return the first rank with the largest step. */
static int slowest_of(const struct cell *sums, int ranks)
{
    int slowest = 0;
    for (int rank = 1; rank < ranks; rank++)
        slowest = sums[rank].step > sums[slowest].step ? rank : slowest;
    return slowest;
}

void case_stats_check(struct case_stats *stats, const struct timeline *timeline)
{
    struct cell *cells = memory_new((size_t)timeline->steps * (size_t)stats->ranks, sizeof *cells);
    struct check_failures wrong = timeline_split(timeline, cells);
    check_failures_join(&stats->wrong, &wrong, "round %d, ", stats->rounds + 1);
    free(cells);
}

/* Count the ranks charged most in a round, cells (steps, ranks). */
static void count_culprits(struct case_stats *stats, const struct cell *cells, int steps)
{
    const int ranks = stats->ranks;
    double *caused = memory_new((size_t)steps * (size_t)ranks, sizeof *caused);
    for (int i = 0; i < steps * ranks; i++)
        caused[i] = cells[i].caused;
    culprits_add_round(&stats->culprits, caused, steps);
    free(caused);
}

/* Return the rank charged with most of the waiting in a round, and its charge; `sums` (ranks) are over `steps` steps. */
static struct round_charges charges_of(const struct cell *sums, int ranks, int steps)
{
    struct round_charges charges = { .rank = -1 };
    for (int rank = 0; rank < ranks; rank++) {
        const double caused = sums[rank].caused / steps;
        charges.rank = caused > charges.most ? rank : charges.rank;
        charges.most = fmax(charges.most, caused);
        charges.all += fmax(0, caused);
    }
    return charges;
}

void case_stats_add(struct case_stats *stats, const struct timeline *timeline, const struct conditions *conditions)
{
    int ranks = stats->ranks, steps = timeline->steps, windows = steps / stats->every;
    struct cell *cells = memory_new((size_t)steps * (size_t)ranks, sizeof *cells);
    struct cell *sums = memory_new((size_t)ranks, sizeof *sums); /* of the round */
    struct check_failures wrong = timeline_split(timeline, cells);
    check_failures_join(&stats->wrong, &wrong, "round %d, ", stats->rounds + 1);
    stats->slowest = grown(stats->slowest, stats->windows, windows);
    stats->most_charged = grown(stats->most_charged, stats->windows, windows);
    stats->last = memory_grow(stats->last, ((size_t)stats->windows + (size_t)windows) * sizeof *stats->last);
    stats->round = memory_grow(stats->round, ((size_t)stats->rounds + 1) * sizeof *stats->round);
    const double spread = stats->spread;
    struct late_work late = { 0 };
    for (int window = 0; window < windows; window++)
        add_window(stats, cells + window * stats->every * ranks, sums, &late);
    count_culprits(stats, cells, steps);
    for (int rank = 0; rank < ranks; rank++)
        add_cell(&stats->sum[rank], &sums[rank]);
    const struct step_means mean = step_means_of(sums, ranks, steps);
    late_work_join(&stats->late, &late);
    stats->round[stats->rounds++] = (struct round_stats){
        .slowest_step = sums[slowest_of(sums, ranks)].step / steps,
        .rank_skew = (stats->spread - spread) / windows,
        .mean = mean,
        .split = split_of(&mean, &late, ranks, steps),
        .charges = charges_of(sums, ranks, steps),
        .conditions = conditions ? *conditions : (struct conditions){ .at = NAN, .taken_share = NAN },
    };
    stats->what_if += timeline_what_if(timeline) * steps;
    stats->steps += steps;
    free(cells);
    free(sums);
}

static double mean_loss(const struct case_stats *stats)
{
    double loss = 0, samples = 0;
    for (int rank = 0; rank < stats->ranks; rank++) {
        loss += stats->loss[rank] * stats->samples[rank];
        samples += stats->samples[rank];
    }
    return loss / samples;
}

static enum numerics compare_losses(const struct case_stats *stats, const struct case_stats *baseline)
{
    int samples = 0; /* without samples there is no loss */
    for (int rank = 0; rank < stats->ranks; rank++)
        samples += stats->samples[rank];
    if (!baseline || stats->trained != baseline->trained || samples == 0)
        return NUMERICS_UNKNOWN;
    size_t bytes = (size_t)stats->ranks * sizeof *stats->loss;
    if (stats->ranks == baseline->ranks && memcmp(stats->loss, baseline->loss, bytes) == 0)
        return NUMERICS_SAME;
    double ours = mean_loss(stats), theirs = mean_loss(baseline);
    return fabs(ours - theirs) <= NUMERICS_TOLERANCE * fabs(theirs) ? NUMERICS_REORDERED : NUMERICS_CHANGED;
}

static void choose_blamed(struct case_summary *s, const struct case_stats *stats, const struct case_stats *baseline)
{
    const bool is_compared = baseline && baseline != stats;
    double *caused = memory_new((size_t)stats->ranks, sizeof *caused);
    for (int rank = 0; rank < stats->ranks; rank++)
        caused[rank] = stats->sum[rank].caused;
    const struct charges charges = {
        .caused = caused,
        .rank_seconds = s->mean.step * stats->ranks * stats->steps,
        .usual = is_compared ? stats->steps * stats_quantile(baseline->most_charged, baseline->windows, 0.95) : 0,
    };
    s->blamed_rank = culprits_judge(&stats->culprits, &charges, &s->is_too_short);
    s->blamed_wait = s->blamed_rank >= 0 ? caused[s->blamed_rank] / stats->steps : (double)NAN;
    free(caused);
}

static struct bound_by bound_of(const struct case_stats *stats)
{
    struct split_step *splits = memory_new((size_t)stats->rounds, sizeof *splits);
    for (int round = 0; round < stats->rounds; round++)
        splits[round] = stats->round[round].split;
    const struct bound_by bound = split_bound(splits, stats->rounds);
    free(splits);
    return bound;
}

static struct ratio compare_steps(const struct case_stats *stats, const struct case_stats *baseline)
{
    if (!baseline)
        return (struct ratio){ NAN, NAN, NAN };
    if (stats->is_long)
        return stats_block_ratio(stats->slowest, stats->windows, baseline->slowest, baseline->windows);
    int rounds = stats->rounds < baseline->rounds ? stats->rounds : baseline->rounds;
    double *logs = memory_new((size_t)rounds, sizeof *logs);
    for (int round = 0; round < rounds; round++)
        logs[round] = log(stats->round[round].slowest_step / baseline->round[round].slowest_step);
    struct ratio ratio = stats_ratio(logs, rounds);
    free(logs);
    return ratio;
}

/* Return the median over windows of a member of struct step_profile, given by its offset; NaN if any window lacks it. */
static double median_of(const struct case_stats *stats, size_t member)
{
    double *values = memory_new((size_t)stats->windows, sizeof *values);
    bool is_known = stats->windows > 0;
    for (int window = 0; window < stats->windows; window++) {
        values[window] = *(const double *)((const char *)&stats->last[window] + member);
        is_known &= !isnan(values[window]);
    }
    double median = is_known ? stats_quantile(values, stats->windows, 0.5) : (double)NAN;
    free(values);
    return median;
}

static struct step_profile medians_of(const struct case_stats *stats)
{
#define MEDIAN(member) median_of(stats, offsetof(struct step_profile, member))
    return (struct step_profile){ .slowest = MEDIAN(slowest),
                                  .spread = MEDIAN(spread),
                                  .mean = { .step = MEDIAN(mean.step),
                                            .data = MEDIAN(mean.data),
                                            .local = MEDIAN(mean.local),
                                            .update = MEDIAN(mean.update),
                                            .host = MEDIAN(mean.host),
                                            .wait = MEDIAN(mean.wait),
                                            .transfer = MEDIAN(mean.transfer),
                                            .exposed = MEDIAN(mean.exposed) } };
#undef MEDIAN
}

static int compare_caused(const void *a, const void *b, void *sums)
{
    const struct cell *x = (const struct cell *)sums + *(const int *)a,
                      *y = (const struct cell *)sums + *(const int *)b;
    if (x->caused > y->caused || x->caused < y->caused)
        return x->caused > y->caused ? -1 : 1;
    return *(const int *)a - *(const int *)b;
}

void case_stats_order(const struct case_stats *stats, int *order)
{
    for (int rank = 0; rank < stats->ranks; rank++)
        order[rank] = rank;
    qsort_r(order, (size_t)stats->ranks, sizeof *order, compare_caused, stats->sum);
}

int case_stats_last_arrivals(const struct case_stats *stats)
{
    int collectives = 0;
    for (int rank = 0; rank < stats->ranks; rank++)
        collectives += stats->sum[rank].last;
    return collectives;
}

struct step_profile case_stats_typical(const struct case_stats *stats)
{
    struct step_profile typical = medians_of(stats);
    if (stats->is_whole) {
        typical.slowest = stats->sum[slowest_of(stats->sum, stats->ranks)].step / stats->steps;
        typical.mean = step_means_of(stats->sum, stats->ranks, stats->steps);
    }
    return typical;
}

static struct case_summary withheld(void)
{
    return (struct case_summary){ .mean = step_means_unknown,
                                  .slowest_rank = -1,
                                  .slowest_step = NAN,
                                  .median_step = NAN,
                                  .p95_step = NAN,
                                  .rank_skew = NAN,
                                  .blamed_rank = -1,
                                  .blamed_wait = NAN,
                                  .what_if = NAN,
                                  .vs_baseline = { NAN, NAN, NAN },
                                  .loss = NAN,
                                  .late_by = -1 };
}

struct case_summary case_stats_summarise(const struct case_stats *stats, const struct case_stats *baseline)
{
    if (stats->wrong.count)
        return withheld();
    if (baseline && baseline->wrong.count)
        baseline = NULL;
    struct case_summary s = { .mean = step_means_of(stats->sum, stats->ranks, stats->steps) };
    s.slowest_rank = slowest_of(stats->sum, stats->ranks);
    s.slowest_step = stats->sum[s.slowest_rank].step / stats->steps;
    s.median_step = stats_quantile(stats->slowest, stats->windows, 0.5);
    s.p95_step = stats_quantile(stats->slowest, stats->windows, 0.95);
    s.rank_skew = stats->spread / stats->windows;
    s.what_if = stats->what_if / stats->steps;
    s.loss = mean_loss(stats);
    s.numerics = compare_losses(stats, baseline);
    s.vs_baseline = compare_steps(stats, baseline);
    s.split = split_of(&s.mean, &stats->late, stats->ranks, stats->steps);
    s.bound = bound_of(stats);
    s.late_by = late_work_by(&stats->late);
    choose_blamed(&s, stats, baseline);
    return s;
}
