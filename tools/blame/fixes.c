#include "fixes.h"

#include "analysis/what_if.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/stats.h"
#include "chain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CANDIDATES_MOST = 16, PHASE_CHOICES = SPAN_PHASES + 1 };

/* Gains of all candidates in each sample: a round, or a stretch of steps in a row. */
struct replays {
    const struct spans_case *of;
    const struct outcome *outcome;
    const struct hosts *hosts;
    struct fix *at; /* (count) candidates; those of one kind and phase are neighbours */
    int count, samples;
    bool by_round;
    double *gains;    /* (count, samples) seconds per step, as replayed */
    double unchanged; /* replayed seconds of all steps, without a fix */
};

/* --- candidates ------------------------------------------------------------------------------------------------- */

/* Fixing a rank gains something only if others waited for it alone, so those with the largest charges will do. Messages charge none. */
static void add_candidates(struct replays *replays)
{
    const struct case_stats *stats = &replays->outcome->stats;
    const struct hosts *hosts = replays->hosts;
    const double least = chain_has_messages(&replays->of->blocks[0].timeline)
                             ? -1
                             : 1e-3 * replays->outcome->summary.mean.step * stats->steps;
    int ranks = 0;
    int *order = memory_new((size_t)stats->ranks, sizeof *order);
    case_stats_order(stats, order);
    while (ranks < stats->ranks && ranks < CANDIDATES_MOST && stats->ranks > 1 &&
           stats->sum[order[ranks]].caused > least)
        ranks++;
    replays->at = memory_new((size_t)PHASE_CHOICES * ((size_t)ranks + (size_t)hosts->count + 1), sizeof *replays->at);
    for (int phase = 0; phase < PHASE_CHOICES; phase++) {
        for (int i = 0; i < ranks; i++)
            replays->at[replays->count++] = (struct fix){ .rank = order[i], .host = -1, .phase = phase };
        for (int host = 0; host < hosts->count && hosts->count > 1; host++)
            if (hosts->sizes[host] > 1)
                replays->at[replays->count++] = (struct fix){ .rank = -1, .host = host, .phase = phase };
        if (stats->ranks > 1 && phase < SPAN_PHASES)
            replays->at[replays->count++] = (struct fix){ .rank = -1, .host = -1, .phase = phase };
    }
    free(order);
}

static bool is_fixed(const struct fix *fix, const struct hosts *hosts, int rank)
{
    return fix->rank >= 0 ? rank == fix->rank : fix->host < 0 || hosts->of[rank] == fix->host;
}

/* --- replays ---------------------------------------------------------------------------------------------------- */

static int stretch_of(const struct replays *replays, const struct timeline *t)
{
    return replays->by_round ? t->steps : replays->outcome->stats.culprits.stretch;
}

static int samples_of(const struct replays *replays, const struct timeline *t)
{
    int stretch = stretch_of(replays, t);
    return (t->steps + stretch - 1) / stretch;
}

/* Replay one round with all candidates. Its samples begin at `first`. */
static bool replay_round(struct replays *replays, const struct timeline *t, int first)
{
    const int stretch = stretch_of(replays, t);
    struct what_if *w = what_if_open(t);
    if (!w)
        return false;
    double *unchanged = memory_new((size_t)t->steps, sizeof *unchanged);
    double *lengths = memory_new((size_t)t->steps, sizeof *lengths);
    bool *ranks = memory_new((size_t)t->ranks, sizeof *ranks);
    bool is_known = what_if_replay(w, (struct what_if_fix){ NULL, SPAN_PHASES }, unchanged);
    for (int step = 0; step < t->steps; step++)
        replays->unchanged += unchanged[step];
    for (int i = 0; i < replays->count && is_known; i++) {
        for (int rank = 0; rank < t->ranks; rank++)
            ranks[rank] = is_fixed(&replays->at[i], replays->hosts, rank);
        is_known = what_if_replay(w, (struct what_if_fix){ ranks, replays->at[i].phase }, lengths);
        double *gains = replays->gains + (ptrdiff_t)i * replays->samples + first;
        for (int step = 0; step < t->steps; step++) {
            int left = t->steps - step / stretch * stretch;
            gains[step / stretch] += (unchanged[step] - lengths[step]) / (left < stretch ? left : stretch);
            replays->at[i].gain += unchanged[step] - lengths[step];
        }
    }
    free(ranks);
    free(lengths);
    free(unchanged);
    what_if_close(w);
    return is_known;
}

static bool replay_all(struct replays *replays)
{
    bool is_known = replays->outcome->stats.ranks > 1;
    for (int i = 0; i < replays->of->count; i++)
        replays->samples += samples_of(replays, &replays->of->blocks[i].timeline);
    replays->gains = memory_new((size_t)replays->count * (size_t)replays->samples, sizeof *replays->gains);
    for (int i = 0, first = 0; i < replays->of->count && is_known; i++) {
        is_known = replay_round(replays, &replays->of->blocks[i].timeline, first);
        first += samples_of(replays, &replays->of->blocks[i].timeline);
    }
    return is_known && replays->unchanged > 0;
}

/* --- gains and noise -------------------------------------------------------------------------------------------- */

static bool are_alike(const struct fix *x, const struct fix *y)
{
    return x->phase == y->phase && (x->rank < 0) == (y->rank < 0) && (x->host < 0) == (y->host < 0);
}

/* Return the lower end of a candidate's gain over the median of its like. */
static double excess_of(const struct replays *replays, int which)
{
    double *over = memory_new((size_t)replays->samples, sizeof *over), sum = 0, squares = 0;
    const int ranks = replays->outcome->stats.ranks;
    double *like = memory_new((size_t)replays->count + (size_t)ranks, sizeof *like);
    int candidates = 0;
    for (int sample = 0; sample < replays->samples; sample++) {
        int count = candidates = 0;
        for (int i = 0; i < replays->count; i++) {
            candidates += are_alike(&replays->at[i], &replays->at[which]);
            if (i != which && are_alike(&replays->at[i], &replays->at[which]))
                like[count++] = replays->gains[(ptrdiff_t)i * replays->samples + sample];
        }
        while (replays->at[which].rank >= 0 && count < ranks - 1)
            like[count++] = 0; /* ranks that are no candidates */
        over[sample] = replays->gains[(ptrdiff_t)which * replays->samples + sample] -
                       (count > 0 ? stats_lower_median(like, count) : 0);
        sum += over[sample];
    }
    const double mean = sum / replays->samples, tail = 0.05 / (candidates * PHASE_CHOICES);
    for (int sample = 0; sample < replays->samples; sample++)
        squares += (over[sample] - mean) * (over[sample] - mean);
    free(like);
    free(over);
    return mean - stats_student_quantile(tail, replays->samples - 1) *
                      sqrt(squares / (replays->samples - 1) / replays->samples);
}

static bool is_kept(const struct replays *replays, const struct fix *fix, double step, const struct culprit *culprit)
{
    static const double least = 0.01, least_of_all_ranks = 0.05; /* of a step; all ranks: less is jitter */
    const bool is_culprits =
        (fix->rank >= 0 && fix->rank == culprit->rank) || (fix->host >= 0 && fix->host == culprit->host);
    const bool is_of_all = fix->rank < 0 && fix->host < 0;
    if (!(fix->gain >= (is_of_all ? least_of_all_ranks : least) * step))
        return false;
    return is_culprits || (replays->samples > 2 && fix->excess > 0);
}

/* True if a narrower fix gains as much: fixing one rank of a host, or one rank or host of all. */
static bool is_too_broad(const struct fixes *fixes, const struct hosts *hosts, const struct fix *fix)
{
    static const double as_much = 0.98;
    for (int i = 0; i < fixes->count; i++) {
        const struct fix *other = &fixes->at[i];
        bool is_within = fix->host < 0 || (other->rank >= 0 && hosts->of[other->rank] == fix->host);
        bool is_narrower = fix->rank < 0 && is_within && (other->rank >= 0 || (other->host >= 0 && fix->host < 0));
        if (is_narrower && other->phase == fix->phase && other->gain >= as_much * fix->gain)
            return true;
    }
    return false;
}

static void drop_broad(struct fixes *fixes, const struct hosts *hosts)
{
    int kept = 0;
    bool *is_dropped = memory_new((size_t)fixes->count, sizeof *is_dropped);
    for (int i = 0; i < fixes->count; i++)
        is_dropped[i] = is_too_broad(fixes, hosts, &fixes->at[i]);
    for (int i = 0; i < fixes->count; i++)
        if (!is_dropped[i])
            fixes->at[kept++] = fixes->at[i];
    fixes->count = kept;
    free(is_dropped);
}

static int compare_gains(const void *a, const void *b)
{
    const struct fix *x = a, *y = b;
    const double gain_x = round(1e9 * x->gain), gain_y = round(1e9 * y->gain); /* replays round differently */
    if (gain_x > gain_y || gain_x < gain_y)
        return gain_x > gain_y ? -1 : 1;
    const int breadth_x = x->rank >= 0 ? 0 : x->host >= 0 ? 1 : 2, breadth_y = y->rank >= 0 ? 0 : y->host >= 0 ? 1 : 2;
    return breadth_x != breadth_y ? breadth_x - breadth_y
           : x->phase != y->phase ? x->phase - y->phase
                                  : x->rank - y->rank;
}

/* Find the rank that leads. */
static void find_leader(const struct replays *replays, struct fixes *fixes)
{
    const struct fix *best = NULL;
    double sum = 0;
    for (int i = 0; i < replays->count; i++) {
        const struct fix *fix = &replays->at[i];
        if (fix->rank < 0 || fix->phase != SPAN_PHASES || !(fix->gain > 0))
            continue;
        sum += fix->gain;
        best = !best || fix->gain > best->gain ? fix : best;
    }
    const int ranks = replays->outcome->stats.ranks;
    if (!best || !fixes->are_enough || !(best->excess > 0) || !(best->gain > CULPRITS_SHARE * sum) ||
        !(best->gain * (ranks - 1) >= CULPRITS_LEAST * fixes->step * ranks))
        return;
    fixes->leader = best->rank;
    fixes->led = best->gain;
}

struct fixes fixes_find(const struct spans_case *of, const struct outcome *o, const struct hosts *hosts,
                        const struct culprit *culprit)
{
    enum { ROUNDS_LEAST = 3 };
    struct replays replays = { .of = of, .outcome = o, .hosts = hosts, .by_round = o->stats.rounds >= ROUNDS_LEAST };
    struct fixes fixes = { .step = o->summary.mean.step, .leader = -1 };
    add_candidates(&replays);
    fixes.are_known = !o->stats.wrong.count && replay_all(&replays);
    fixes.are_enough = replays.samples > 2;
    for (int i = 0; i < replays.count && fixes.are_known; i++) {
        struct fix *fix = &replays.at[i];
        fix->gain *= fixes.step / replays.unchanged;
        fix->excess = fixes.are_enough ? excess_of(&replays, i) : (double)NAN;
    }
    if (fixes.are_known && chain_has_messages(&of->blocks[0].timeline))
        find_leader(&replays, &fixes);
    for (int i = 0; i < replays.count && fixes.are_known; i++)
        if (is_kept(&replays, &replays.at[i], fixes.step, culprit))
            replays.at[fixes.count++] = replays.at[i];
    fixes.at = replays.at;
    drop_broad(&fixes, hosts);
    qsort(fixes.at, (size_t)fixes.count, sizeof *fixes.at, compare_gains);
    free(replays.gains);
    return fixes;
}

void fixes_close(struct fixes *fixes)
{
    free(fixes->at);
    *fixes = (struct fixes){ 0 };
}

/* --- text ------------------------------------------------------------------------------------------------------- */

char *fix_name(const struct fix *fix, const struct outcome *o, const struct hosts *hosts)
{
    const char *phase = fix->phase == SPAN_PHASES ? "all phases" : culprit_phase_name(fix->phase);
    if (fix->rank >= 0)
        return memory_text("rank %d: %s", timeline_rank(&o->picture, fix->rank), phase);
    return fix->host >= 0 ? memory_text("host %s: %s", hosts->names[fix->host], phase)
                          : memory_text("all ranks: %s", phase);
}

void fixes_print(FILE *out, const struct fixes *fixes, const struct outcome *o, const struct hosts *hosts)
{
    enum { SHOWN_MOST = 6 };
    if (!fixes->are_known)
        return;
    if (fixes->count == 0) {
        fprintf(out, "No single fix gains more than noise%s.\n",
                fixes->are_enough ? "" : ", as far as so few steps can tell");
        return;
    }
    const int decimals = number_ms_decimals(fixes->step);
    fprintf(out, "\n%-32s %18s %9s\n", "fix this (as fast as the others)", "a step would take", "gain");
    for (int i = 0; i < fixes->count && i < SHOWN_MOST; i++) {
        const struct fix *fix = &fixes->at[i];
        char *name = fix_name(fix, o, hosts);
        fprintf(out, "%-32s %15.*f ms %6.*f ms %3.0f %%\n", name, decimals, 1e3 * (fixes->step - fix->gain), decimals,
                1e3 * fix->gain, 100 * fix->gain / fixes->step);
        free(name);
    }
}
