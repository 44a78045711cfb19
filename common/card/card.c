#include "card/card.h"

#include "base/cores.h"
#include "base/interference.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/stats.h"
#include "card/sweep.h"
#include "device/device.h"
#include "world/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double local_step(const struct local_cost *cost, struct work work)
{
    return cost_at(&cost->fetch, work) + cost_at(&cost->passes, work) + cost->update;
}

const char *card_trains_on(void)
{
    return world_is_simulated() ? "simulated core" : device_gpus() > 0 ? "GPU" : "core";
}

void card_on_gpus(struct card *card, const char *about, int gpus)
{
    snprintf(card->cpu, CARD_NAME, "%.*s", (int)strcspn(about, ","), about);
    for (int rank = 0; rank < card->ranks; rank++)
        card->place[rank] =
            (struct card_place){ .cores = (short)cores_here(), .parallel_capacity = (float)gpus, .slowdown = 1 };
}

void card_on_hosts(struct card *card, const struct host *hosts)
{
    for (int rank = 0; rank < card->ranks; rank++)
        card->place[rank] = (struct card_place){ .host = (short)hosts[rank].index,
                                                 .parallel_capacity = (float)hosts[rank].cores,
                                                 .slowdown = 1 };
}

static struct cost between(const struct cost *a, const struct cost *b, double share)
{
    struct cost cost;
    for (int term = 0; term < COST_TERMS; term++)
        cost.term[term] = a->term[term] + share * (b->term[term] - a->term[term]);
    return cost;
}

int card_busy_ranks(const struct card *card)
{
    return card->ranks < card->cores ? card->ranks : card->cores;
}

bool card_is_oversubscribed(const struct card *card, int ranks)
{
    int *count = memory_new((size_t)card->ranks, sizeof *count);
    bool is_crowded = ranks > card->cores;
    for (int rank = 0; rank < ranks; rank++)
        is_crowded |=
            ++count[card_host(card, rank)] > fmax(card->place[rank].cores, card_parallel_capacity(card, rank));
    free(count);
    return is_crowded;
}

/* Return the position of `ranks` between one rank and all that have a core: 0 to 1. */
static double share_of(const struct card *card, int ranks)
{
    int busy = card_busy_ranks(card);
    return busy == 1 ? 0 : fmin(1, (ranks - 1.0) / (busy - 1.0));
}

struct local_cost card_local(const struct card *card, int ranks)
{
    const struct local_cost *one = &card->alone, *all = &card->together;
    double share = ranks > card->cores ? 0 : share_of(card, ranks);
    return (struct local_cost){ .fetch = between(&one->fetch, &all->fetch, share),
                                .passes = between(&one->passes, &all->passes, share),
                                .update = one->update + share * (all->update - one->update) };
}

struct card_probe card_usual(const struct card *card)
{
    const struct local_times *lap = card->ranks > card->cores ? &card->usual_alone : &card->usual_together;
    return (struct card_probe){ lap->fetch, lap->passes, lap->update, card->usual_transfer };
}

static double relative_to(double now, double then)
{
    return now > 0 && then > 0 ? now / then : 1;
}

struct card_drift card_drift_of(const struct card *card, const struct card_probe *probe)
{
    const struct card_probe then = card_usual(card);
    return (struct card_drift){ .local = relative_to(probe->fetch + probe->passes + probe->update,
                                                     then.fetch + then.passes + then.update),
                                .transfer = relative_to(probe->transfer, then.transfer) };
}

bool card_agrees(const struct card *card, const struct card_probe *probe, char why[CARD_NAME])
{
    static const double most = 0.05, small_part = 0.02, of_step = 0.01;
    const struct card_probe then = card_usual(card);
    const struct {
        const char *name;
        double then, now;
    } parts[] = { { "fetching a batch takes", then.fetch, probe->fetch },
                  { "forward and backward take", then.passes, probe->passes },
                  { "the update takes", then.update, probe->update },
                  { "an all-reduce of the gradients takes", then.transfer, probe->transfer } };
    const double step = then.fetch + then.passes + then.update + then.transfer;
    double worst = 1; /* relative to what is allowed */
    bool agrees = true;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const double allowed = parts[i].then < small_part * step ? of_step * step : most * parts[i].then;
        const double off = parts[i].now - parts[i].then;
        if (!(parts[i].then > 0) || fabs(off) <= worst * allowed)
            continue; /* 0: the card has none */
        worst = fabs(off) / allowed;
        agrees = false;
        snprintf(why, CARD_NAME, "%s %.0f %% %s", parts[i].name, 100 * fabs(off) / parts[i].then,
                 off > 0 ? "longer" : "less");
    }
    return agrees;
}

/* True if local steps were measured, and are not from a platform file. */
static bool is_measured(const struct card *card)
{
    return card->usual_alone.passes > 0;
}

bool card_lacks_usual_transfer(const struct card *card, const struct card_uses *uses)
{
    bool is_used = false;
    for (int i = 0; i < uses->count; i++)
        is_used |= uses->at[i].kind == ALL_REDUCE && card_group_equals(uses->at[i].group, first_ranks(card->ranks));
    return is_used && is_measured(card) && !(card->usual_transfer > 0);
}

static void slow_cost(struct cost *cost, double times)
{
    for (int term = 0; term < COST_TERMS; term++)
        cost->term[term] *= times;
}

static void slow_local(struct local_cost *cost, struct local_times *usual, double times)
{
    slow_cost(&cost->fetch, times);
    slow_cost(&cost->passes, times);
    cost->update *= times;
    *usual = (struct local_times){ usual->fetch * times, usual->passes * times, usual->update * times };
}

struct card card_drifted(const struct card *card, struct card_drift drift)
{
    struct card c = *card;
    slow_local(&c.alone, &c.usual_alone, drift.local);
    slow_local(&c.together, &c.usual_together, drift.local);
    c.jitter *= drift.local;
    c.copy_bandwidth /= drift.local;
    c.fresh_bandwidth /= drift.local;
    for (int i = 0; i < c.collectives.count; i++)
        alpha_beta_slow(&c.collectives.at[i].cost, drift.transfer);
    alpha_beta_slow(&c.p2p.send, drift.transfer);
    alpha_beta_slow(&c.p2p.exchange, drift.transfer);
    alpha_beta_slow(&c.p2p.add, drift.local);
    c.usual_transfer *= drift.transfer;
    return c;
}

int card_host(const struct card *card, int rank)
{
    return card->place[rank].host;
}

double card_parallel_capacity(const struct card *card, int rank)
{
    double capacity = (double)card->place[rank].parallel_capacity;
    return capacity > 0 ? capacity : card->cores;
}

/* Return how many of the first `ranks` are on the host of rank 0. */
static int beside_first(const struct card *card, int ranks)
{
    int count = 0;
    for (int rank = 0; rank < ranks; rank++)
        count += card_host(card, rank) == card_host(card, 0);
    return count;
}

double card_contention_slowdown(const struct card *card, int ranks)
{
    return fmax(1, beside_first(card, ranks) / card_parallel_capacity(card, 0));
}

static int cores_of_first(const struct card *card)
{
    return card->place[0].cores ? card->place[0].cores : (int)card_parallel_capacity(card, 0);
}

bool card_is_fed_by_memory(const struct card *card)
{
    return card_parallel_capacity(card, 0) < fmin(beside_first(card, card->ranks), cores_of_first(card));
}

enum card_helper card_helper(const struct card *card)
{
    int cores = card->place[0].cores;
    if (cores <= 1) /* 0: a real host */
        return HELPER_ON_THE_RANKS_CORE;
    return cores >= 2 * beside_first(card, card->ranks) ? HELPER_ON_ITS_OWN : HELPER_SOMEWHERE;
}

double card_rank_slowdown(const struct card *card, int rank)
{
    double slowdown = (double)card->place[rank].slowdown;
    return slowdown > 0 ? slowdown : 1;
}

double card_jitter(const struct card *card, int ranks, double local)
{
    return card->jitter * share_of(card, ranks) + card->relative_jitter * local * stats_normal_most(ranks);
}

double card_sleep(const struct card *card, double seconds)
{
    return seconds * (1 + card->sleep_excess) + card->sleep_overshoot;
}

/* --- collectives ------------------------------------------------------------------------------------------------ */

double card_collective(const struct card *card, enum collective_kind kind, struct card_group group, double bytes)
{
    if (group.ranks == 1)
        return 0;
    const struct collective_cost *entry = collective_costs_find(&card->collectives, kind, group);
    return entry ? alpha_beta_seconds(&entry->cost, bytes) : (double)NAN;
}

double card_allreduce(const struct card *card, int ranks, double bytes)
{
    return card_collective(card, ALL_REDUCE, first_ranks(ranks), bytes);
}

double card_barrier(const struct card *card, int ranks)
{
    return card_collective(card, BARRIER, first_ranks(ranks), 0);
}

bool card_covers(const struct card *card, const struct card_uses *uses)
{
    bool is_covered = !card_lacks_usual_transfer(card, uses);
    is_covered &= !uses->messages || card->ranks == 1 || p2p_cost_is_known(&card->p2p);
    for (int i = 0; i < uses->count; i++)
        is_covered &= collective_costs_cover(&card->collectives, &uses->at[i]);
    return is_covered;
}

int card_group_hosts(const struct card *card, struct card_group group)
{
    int hosts = 0;
    for (int i = 0; i < group.ranks; i++) {
        bool is_new = true;
        for (int before = 0; before < i; before++)
            is_new &= card_host(card, before * group.stride) != card_host(card, i * group.stride);
        hosts += is_new;
    }
    return hosts;
}

/* --- text ------------------------------------------------------------------------------------------------------- */

/* Print the terms in use, in milliseconds: "12.0 fixed + 0.140 per sample". */
static void show_terms(FILE *out, const struct local_cost *cost)
{
    static const char *const words[COST_TERMS] = { "fixed", "per sample", "per 1000 tokens",
                                                   "per 1000 tokens x 100 of length" };
    static const double units[COST_TERMS] = { 1, 1, 1e3, 1e5 };
    for (int term = 0; term < COST_TERMS; term++) {
        double seconds = cost->fetch.term[term] + cost->passes.term[term] + (term == COST_FIXED ? cost->update : 0);
        if (term == COST_FIXED || fabs(seconds) > 0)
            fprintf(out, "%s%.*f %s", term ? " + " : "",
                    term != COST_PER_SAMPLE ? number_ms_decimals(seconds * units[term])
                    : seconds < 1e-5        ? 5
                                            : 3,
                    1e3 * seconds * units[term], words[term]);
    }
}

/* Print CPU steal and run-queue delay of rank 0 if large enough to affect predictions. */
static void show_interference(FILE *out, const struct card *card)
{
    static const double least_shown = 0.005;
    const double queued = card->queued_share, stolen = card->stolen_share;
    if (!interference_is_significant(queued + stolen))
        return;
    fprintf(out, "  disturbed: rank 0 had to share its core for %.0f %% of that time (", 100 * (queued + stolen));
    if (queued >= least_shown)
        fprintf(out, "other programs %.0f %%%s", 100 * queued, stolen >= least_shown ? ", " : "");
    if (stolen >= least_shown)
        fprintf(out, "the host of this virtual machine %.0f %%", 100 * stolen);
    fputs("); an idle machine would give another card\n", out);
}

/* Print the seconds of a collective whose larger buffer has the gradients' `bytes`. */
static void show_collective(FILE *out, const struct card *card, const struct collective_cost *entry, double bytes)
{
    const struct card_group group = entry->group;
    const double seconds = alpha_beta_seconds(&entry->cost, bytes / sweep_parts(entry->kind, group.ranks));
    const int hosts = card_group_hosts(card, group);
    char what[40], on[40] = "", stride[40] = "";
    if (entry->kind == BARRIER)
        snprintf(what, sizeof what, "%s takes", collective_names[entry->kind]);
    else
        snprintf(what, sizeof what, "%s of %5.1f MB takes", collective_names[entry->kind], bytes / 1e6);
    if (group.stride > 1)
        snprintf(stride, sizeof stride, ", stride %d", group.stride);
    if (hosts > 1)
        snprintf(on, sizeof on, " on %d hosts", hosts);
    fprintf(out, "  %-31s%8.*f ms   (%d ranks%s%s%s%s)\n", what, number_ms_decimals(seconds), 1e3 * seconds,
            group.ranks, stride, on, group.with_siblings ? ", all such groups at once" : "",
            entry->kind == BARRIER ? "" : ", predicted from other sizes");
}

void card_show(FILE *out, const struct card *card, const struct workload *workload, const struct run *run)
{
    struct work work = workload_usual(workload, run);
    double bytes = workload_gradient_bytes(workload);
    fprintf(out, "machine card   %s, %d %s%s\n", card->cpu, card->cores, card_trains_on(), card->cores == 1 ? "" : "s");
    double alone = local_step(&card->alone, work);
    fprintf(out, "  one rank steps alone in       %8.*f ms   (batch %d: ", number_ms_decimals(alone), 1e3 * alone,
            run->batch_size);
    show_terms(out, &card->alone);
    if (device_computes())
        fprintf(out, "; %.0f GFLOP/s", workload_flops(workload, work) / cost_at(&card->alone.passes, work) / 1e9);
    fputs(")\n", out);
    int busy = card_busy_ranks(card);
    double together = local_step(&card->together, work) * card_contention_slowdown(card, busy);
    if (busy > 1) {
        double jitter = card_jitter(card, busy, local_step(&card->together, work));
        fprintf(out, "  %d ranks at once, each in      %8.*f ms   (slowest of a step: %.*f ms above the mean", busy,
                number_ms_decimals(together), 1e3 * together, number_ms_decimals(jitter), 1e3 * jitter);
        if (card_is_fed_by_memory(card))
            fprintf(out, "; memory bandwidth suffices for %.2f at full speed", card_parallel_capacity(card, 0));
        fputs(")\n", out);
    }
    show_interference(out, card);
    for (int i = 0; i < card->collectives.count; i++)
        show_collective(out, card, &card->collectives.at[i], bytes);
    if (!world_is_simulated())
        fprintf(out, "  memory copy %.1f GB/s; a sleep lasts %.2f ms too long; a stamp costs %.0f ns\n",
                card->copy_bandwidth / 1e9, 1e3 * card->sleep_overshoot, 1e9 * card->stamp_cost);
}
