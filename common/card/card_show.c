/* Print a machine card. */
#include "base/interference.h"
#include "base/number.h"
#include "card/card.h"
#include "card/sweep.h"
#include "device/device.h"
#include "world/world.h"

#include <math.h>

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

/* Print the errors of the costs for steps with batches that no cost was fitted to. */
static void show_fit(FILE *out, const struct card *card)
{
    const struct fit_error *alone = &card->reference.alone_error, *together = &card->reference.together_error;
    if (!card_is_measured(card))
        return;
    fprintf(out, "  fit: usual batch predicted %+.1f %%", 100 * alone->usual);
    if (card_busy_ranks(card) > 1)
        fprintf(out, " alone, %+.1f %% at once", 100 * together->usual);
    fprintf(out, "; other shapes within %.1f %% when left out\n", 100 * fmax(alone->left_out, together->left_out));
}

/* Print the seconds of a collective whose larger buffer has the gradients' `bytes`. */
static void show_collective(FILE *out, const struct card *card, const struct collective_cost *entry, double bytes)
{
    const struct card_group group = entry->group;
    const double seconds = alpha_beta_seconds(&entry->cost, bytes / sweep_parts(entry->kind, group.ranks));
    const bool is_short = seconds < 0.1e-3; /* shown in microseconds */
    const double shown = (is_short ? 1e6 : 1e3) * seconds;
    const int hosts = card_group_hosts(card, group);
    char what[40], on[40] = "", stride[40] = "", error[40] = "";
    if (entry->kind == BARRIER)
        snprintf(what, sizeof what, "%s takes", collective_names[entry->kind]);
    else
        snprintf(what, sizeof what, "%s of %5.1f MB takes", collective_names[entry->kind], bytes / 1e6);
    if (group.stride > 1)
        snprintf(stride, sizeof stride, ", stride %d", group.stride);
    if (hosts > 1)
        snprintf(on, sizeof on, " on %d hosts", hosts);
    if (entry->kind == ALL_REDUCE && card_group_equals(group, first_ranks(card->ranks)) && card->reference.transfer > 0)
        snprintf(error, sizeof error, ": %+.1f %% off", 100 * (seconds / card->reference.transfer - 1));
    fprintf(out, "  %-31s%8.*f %s   (%d ranks%s%s%s%s%s)\n", what, number_ms_decimals(shown / 1e3), shown,
            is_short ? "us" : "ms", group.ranks, stride, on, group.with_siblings ? ", all such groups at once" : "",
            entry->kind == BARRIER ? "" : ", predicted from other sizes", error);
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
    show_fit(out, card);
    show_interference(out, card);
    for (int i = 0; i < card->collectives.count; i++)
        show_collective(out, card, &card->collectives.at[i], bytes);
    own_costs_show(out, &card->own);
    if (!world_is_simulated())
        fprintf(out, "  memory copy %.1f GB/s; a sleep lasts %.2f ms too long; a stamp costs %.0f ns\n",
                card->copy_bandwidth / 1e9, 1e3 * card->sleep_overshoot, 1e9 * card->stamp_cost);
}
