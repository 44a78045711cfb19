#include "summary.h"

#include "memory.h"

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

void tally_open(struct tally *tally, const struct run *run)
{
    int ranks = run->ranks;
    *tally = (struct tally){ .ranks = ranks, .every = run->sync_every, .is_long = run->once > 0 };
    tally->sum = memory_new((size_t)ranks, sizeof *tally->sum);
    tally->foremost = memory_new((size_t)ranks, sizeof *tally->foremost);
    tally->loss = memory_new((size_t)ranks, sizeof *tally->loss);
    tally->samples = memory_new((size_t)ranks, sizeof *tally->samples);
    tally->queued = memory_new((size_t)ranks, sizeof *tally->queued);
}

void tally_close(struct tally *tally)
{
    free(tally->sum);
    free(tally->slowest);
    free(tally->most_charged);
    free(tally->foremost);
    free(tally->round_step);
    free(tally->loss);
    free(tally->samples);
    free(tally->queued);
    *tally = (struct tally){ 0 };
}

/* `values` with room for `added` more behind its `count`. */
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

/* Who was charged most in a step, cells (ranks). */
static void count_foremost(struct tally *tally, const struct cell *cells)
{
    int foremost = 0;
    for (int rank = 1; rank < tally->ranks; rank++)
        if (cells[rank].caused > cells[foremost].caused)
            foremost = rank;
    if (cells[foremost].caused > 0) {
        tally->foremost[foremost]++;
        tally->charged_steps++;
    }
}

/* One window's steps of all ranks, cells (every, ranks), into the tally and the round's sums (ranks). */
static void add_window(struct tally *tally, const struct cell *cells, struct cell *round)
{
    double slowest = 0, fastest = INFINITY, charged = 0;
    for (int i = 0; i < tally->every; i++)
        count_foremost(tally, cells + i * tally->ranks);
    for (int rank = 0; rank < tally->ranks; rank++) {
        double step = 0, caused = 0;
        for (int i = 0; i < tally->every; i++) {
            const struct cell *cell = &cells[i * tally->ranks + rank];
            step += cell->step / tally->every;
            caused += cell->caused / tally->every;
            add_cell(&round[rank], cell);
        }
        slowest = fmax(slowest, step);
        fastest = fmin(fastest, step);
        charged = fmax(charged, caused);
    }
    tally->slowest[tally->windows] = slowest;
    tally->most_charged[tally->windows++] = charged;
    tally->spread += slowest - fastest;
}

void tally_repeat(struct tally *tally, int steps, uint64_t hash)
{
    for (int i = 0; i < tally->lengths; i++) {
        const struct round_end *before = &tally->ends[i];
        if (before->steps != steps)
            continue;
        if (before->hash != hash)
            faults_add(&tally->wrong, "round %d: the same %d steps end with other parameters than in round %d",
                       tally->rounds + 1, steps, before->round);
        return;
    }
    if (tally->lengths < (int)(sizeof tally->ends / sizeof *tally->ends))
        tally->ends[tally->lengths++] = (struct round_end){ tally->rounds + 1, steps, hash };
}

void tally_add(struct tally *tally, const struct timeline *timeline)
{
    int ranks = tally->ranks, steps = timeline->steps, windows = steps / tally->every;
    struct cell *cells = memory_new((size_t)steps * (size_t)ranks, sizeof *cells);
    struct cell *round = memory_new((size_t)ranks, sizeof *round);
    struct faults wrong = timeline_split(timeline, cells);
    faults_join(&tally->wrong, &wrong, "round %d, ", tally->rounds + 1);
    tally->slowest = grown(tally->slowest, tally->windows, windows);
    tally->most_charged = grown(tally->most_charged, tally->windows, windows);
    tally->round_step = grown(tally->round_step, tally->rounds, 1);
    for (int window = 0; window < windows; window++)
        add_window(tally, cells + window * tally->every * ranks, round);
    double round_step = 0;
    for (int rank = 0; rank < ranks; rank++) {
        round_step = fmax(round_step, round[rank].step / steps);
        add_cell(&tally->sum[rank], &round[rank]);
    }
    if (tally->rounds == 0)
        tally->trained = timeline->first_step + steps;
    tally->round_step[tally->rounds++] = round_step;
    tally->what_if += timeline_what_if(timeline) * steps;
    tally->steps += steps;
    free(cells);
    free(round);
}

static double mean_loss(const struct tally *tally)
{
    double loss = 0, samples = 0;
    for (int rank = 0; rank < tally->ranks; rank++) {
        loss += tally->loss[rank] * tally->samples[rank];
        samples += tally->samples[rank];
    }
    return loss / samples;
}

static enum numerics compare_losses(const struct tally *tally, const struct tally *baseline)
{
    int samples = 0; /* of no sample there is no loss */
    for (int rank = 0; rank < tally->ranks; rank++)
        samples += tally->samples[rank];
    if (!baseline || tally->trained != baseline->trained || samples == 0)
        return NUMERICS_UNKNOWN;
    size_t bytes = (size_t)tally->ranks * sizeof *tally->loss;
    if (tally->ranks == baseline->ranks && memcmp(tally->loss, baseline->loss, bytes) == 0)
        return NUMERICS_SAME;
    double ours = mean_loss(tally), theirs = mean_loss(baseline);
    return fabs(ours - theirs) <= NUMERICS_TOLERANCE * fabs(theirs) ? NUMERICS_REORDERED : NUMERICS_CHANGED;
}

/* The probability that one of n alike ranks is charged most in at least `hits` of `steps`, at most: n times the binomial
 * tail. */
static double luck(int hits, int steps, int n)
{
    double p = 1.0 / n, tail = 0;
    for (int i = hits; i <= steps; i++)
        tail +=
            exp(lgamma(steps + 1.0) - lgamma(i + 1.0) - lgamma(steps - i + 1.0) + i * log(p) + (steps - i) * log1p(-p));
    return n * tail;
}

static void name_culprit(struct summary *s, const struct tally *tally, const struct tally *baseline)
{
    double all = 0, most = 0;
    int culprit = 0;
    for (int rank = 0; rank < tally->ranks; rank++) {
        double caused = tally->sum[rank].caused;
        all += caused;
        if (caused > most) {
            most = caused;
            culprit = rank;
        }
    }
    static const double worth_naming = 0.01; /* of what all ranks' steps take: less is told as 0 of every 100 */
    double per_step = most / tally->steps;
    double usual = baseline && baseline != tally ? stats_quantile(baseline->most_charged, baseline->windows, 0.95) : 0;
    bool is_worth_it = per_step >= worth_naming * s->step * tally->ranks;
    bool stands_out = tally->ranks > 1 && is_worth_it && per_step > usual && most > 0.75 * all &&
                      luck(tally->foremost[culprit], tally->charged_steps, tally->ranks) < 0.05;
    s->blamed_rank = stands_out ? culprit : -1;
    s->blamed_wait = stands_out ? per_step : (double)NAN;
    s->is_too_short =
        tally->charged_steps > 0 && luck(tally->charged_steps, tally->charged_steps, tally->ranks) >= 0.05;
}

static struct ratio compare_steps(const struct tally *tally, const struct tally *baseline)
{
    if (!baseline)
        return (struct ratio){ NAN, NAN, NAN };
    if (tally->is_long)
        return stats_block_ratio(tally->slowest, tally->windows, baseline->slowest, baseline->windows);
    int rounds = tally->rounds < baseline->rounds ? tally->rounds : baseline->rounds;
    double *logs = memory_new((size_t)rounds, sizeof *logs);
    for (int round = 0; round < rounds; round++)
        logs[round] = log(tally->round_step[round] / baseline->round_step[round]);
    struct ratio ratio = stats_ratio(logs, rounds);
    free(logs);
    return ratio;
}

static struct summary withheld(void)
{
    return (struct summary){ .step = NAN,
                             .data = NAN,
                             .local = NAN,
                             .host = NAN,
                             .wait = NAN,
                             .transfer = NAN,
                             .exposed = NAN,
                             .slowest_rank = -1,
                             .slowest_step = NAN,
                             .median_step = NAN,
                             .p95_step = NAN,
                             .rank_skew = NAN,
                             .blamed_rank = -1,
                             .blamed_wait = NAN,
                             .what_if = NAN,
                             .vs_baseline = { NAN, NAN, NAN },
                             .loss = NAN };
}

struct summary tally_summarise(const struct tally *tally, const struct tally *baseline)
{
    if (tally->wrong.count)
        return withheld();
    if (baseline && baseline->wrong.count)
        baseline = NULL;
    struct summary s = { .slowest_step = -1 };
    int steps = tally->steps, ranks = tally->ranks;
    double count = (double)steps * ranks;
    for (int rank = 0; rank < ranks; rank++) {
        const struct cell *sum = &tally->sum[rank];
        if (sum->step / steps > s.slowest_step) {
            s.slowest_step = sum->step / steps;
            s.slowest_rank = rank;
        }
        s.step += sum->step / count;
        s.data += sum->phase[SPAN_DATA] / count;
        s.local += (sum->phase[SPAN_FORWARD] + sum->phase[SPAN_BACKWARD] + sum->phase[SPAN_UPDATE]) / count;
        s.host += sum->phase[SPAN_HOST] / count;
        s.wait += sum->wait / count;
        s.transfer += sum->transfer / count;
        s.exposed += sum->exposed / count;
    }
    s.median_step = stats_quantile(tally->slowest, tally->windows, 0.5);
    s.p95_step = stats_quantile(tally->slowest, tally->windows, 0.95);
    s.rank_skew = tally->spread / tally->windows;
    s.what_if = tally->what_if / steps;
    s.loss = mean_loss(tally);
    s.numerics = compare_losses(tally, baseline);
    s.vs_baseline = compare_steps(tally, baseline);
    name_culprit(&s, tally, baseline);
    return s;
}
