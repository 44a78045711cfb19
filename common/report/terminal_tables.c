#include "report/terminal_tables.h"

#include "base/interference.h"
#include "base/memory.h"
#include "base/number.h"
#include "report/bound_show.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put_ms(FILE *out, int width, int decimals, double seconds)
{
    if (isnan(seconds))
        fprintf(out, " %*s", width, "-");
    else
        fprintf(out, " %*.*f", width, decimals, 1e3 * seconds);
}

/* Print "2.08 [2.02 2.14]". If the interval contains 1, print "not resolved" and the smallest change that would have shown. */
static void put_ratio(FILE *out, const struct report *report, const struct outcome *o)
{
    const struct ratio *r = &o->summary.vs_baseline;
    char text[40];
    if (o == report->outcomes)
        snprintf(text, sizeof text, "1");
    else if (report->outcomes[0].stats.wrong.count)
        snprintf(text, sizeof text, "-");
    else if (!report->has_intervals || isnan(r->low))
        snprintf(text, sizeof text, "%.2f", r->value);
    else if (r->low <= 1 && r->high >= 1)
        snprintf(text, sizeof text, "not resolved +-%.0f%%", 100 * fmax(r->high - 1, 1 - r->low));
    else
        snprintf(text, sizeof text, "%.2f [%.2f %.2f]", r->value, r->low, r->high);
    fprintf(out, " %-19s", text);
}

/* Columns that have values and fit the terminal. */
struct layout {
    bool has_guess, has_formula, has_rate, has_terms, has_host; /* rate: throughput and efficiency */
    int decimals; /* of all milliseconds, as many as the shortest step needs */
};

static void put_case(FILE *out, const struct report *report, const struct outcome *o, struct layout layout)
{
    const struct case_summary *s = &o->summary;
    fprintf(out, "%-20s", o->name);
    if (o->stats.wrong.count) {
        fprintf(out, "  WRONG: %d failed check%s, so no speed is shown: %s\n", o->stats.wrong.count,
                o->stats.wrong.count == 1 ? "" : "s", o->stats.wrong.first);
        return;
    }
    if (layout.has_guess)
        put_ms(out, 7, layout.decimals, o->guess);
    if (layout.has_formula)
        put_ms(out, 8, layout.decimals, prediction_step(&o->prediction));
    put_ms(out, 9, layout.decimals, s->slowest_step);
    fputs(o->shares_cores ? "*" : " ", out);
    put_ratio(out, report, o);
    if (layout.has_rate) {
        double efficiency = report_efficiency(report, o);
        fprintf(out, " %9.0f", (o->tokens ? o->tokens->means.useful : report_samples(o)) / s->slowest_step);
        if (isnan(efficiency))
            fprintf(out, " %6s", "-");
        else
            fprintf(out, " %5.0f%%", 100 * efficiency);
    }
    if (!layout.has_terms) {
        fputc('\n', out);
        return;
    }
    put_ms(out, 6, layout.decimals, s->mean.data);
    put_ms(out, 6, layout.decimals, s->mean.local);
    if (layout.has_host)
        put_ms(out, 6, layout.decimals, s->mean.host);
    put_ms(out, 6, layout.decimals, s->mean.wait);
    put_ms(out, 8, layout.decimals, s->mean.transfer);
    if (s->blamed_rank >= 0)
        fprintf(out, "  rank %-2d", timeline_rank(&o->picture, s->blamed_rank));
    else
        fprintf(out, "  %-7s", "-");
    fprintf(out, "  %s\n", report->is_modelled ? "" : numerics_names[s->numerics]);
}

static struct layout layout_of(const struct report *report, int columns)
{
    enum {
        TERMS_WIDTH = 98,
        FORMULA_WIDTH = 9,
        RATE_WIDTH = 17,
        HOST_WIDTH = 7
    }; /* columns of a row with terms, and of its optional parts */
    struct layout layout = { 0 };
    double host = 0;
    for (int i = 0; i < report->cases; i++) {
        int decimals = number_ms_decimals(report->outcomes[i].summary.slowest_step);
        layout.decimals = decimals > layout.decimals ? decimals : layout.decimals;
        layout.has_guess |= !isnan(report->outcomes[i].guess);
        layout.has_formula |= !isnan(prediction_step(&report->outcomes[i].prediction));
        layout.has_rate |= !isnan(report_efficiency(report, &report->outcomes[i]));
        host = fmax(host, report->outcomes[i].summary.mean.host);
    }
    layout.has_host = 1e3 * host >= 0.5 * pow(10, -layout.decimals); /* any case prints more than 0.0 */
    layout.has_terms = columns >= TERMS_WIDTH + (layout.has_formula ? FORMULA_WIDTH : 0) +
                                      (layout.has_rate ? RATE_WIDTH : 0) + (layout.has_host ? HOST_WIDTH : 0);
    return layout;
}

/* Print the tokens that an epoch drops: for cases that train a whole epoch, or for all if none does. */
static void put_dropped(FILE *out, const struct report *report)
{
    bool has_epochs = false, has_begun = false;
    for (int i = 0; i < report->cases; i++)
        has_epochs |= report->outcomes[i].run.once > 0;
    for (int i = 0; i < report->cases; i++) {
        const struct outcome *o = &report->outcomes[i];
        const struct token_epoch *epoch = o->tokens ? &o->tokens->epoch : NULL;
        if (!epoch || epoch->dropped_tokens == 0 || (has_epochs && !o->run.once))
            continue;
        if (!has_begun)
            fputs("An epoch ends when one rank has no batch left; further batches of other ranks are dropped:\n", out);
        has_begun = true;
        fprintf(out, "  %-20s %d to %d batches a rank, so %ld of %ld tokens (%.1f %%) are not trained\n", o->name,
                epoch->steps, epoch->most_batches, epoch->dropped_tokens, epoch->tokens,
                100.0 * (double)epoch->dropped_tokens / (double)epoch->tokens);
    }
}

void table_show(FILE *out, const struct report *report, int columns)
{
    const struct layout layout = layout_of(report, columns);
    const char *host = layout.has_host ? "   host" : "", *named = layout.has_host ? "host, " : "";
    fprintf(out, "\n%-20s", "milliseconds a step");
    if (layout.has_guess)
        fprintf(out, " %7s", "you");
    if (layout.has_formula)
        fprintf(out, " %8s", "formula");
    fprintf(out, " %9s  %-19s", report->is_simulated ? "simulated" : "measured",
            report->has_intervals ? "x baseline [95 %]" : "x baseline");
    if (layout.has_rate)
        fprintf(out, " %9s %6s", report->outcomes[0].tokens ? "tokens/s" : "samples/s", "effic.");
    if (layout.has_terms)
        fprintf(out, " %6s %6s%s %6s %8s  %-7s  %s", "data", "local", host, "wait", "transfer", "blamed",
                report->has_only_spans ? "" : "numerics");
    fputc('\n', out);
    for (int i = 0; i < report->cases; i++)
        put_case(out, report, &report->outcomes[i], layout);
    if (layout.has_terms)
        fprintf(out, "data, local, %swait, transfer: means over ranks; local = forward, backward, update\n", named);
    put_dropped(out, report);
    if (report->is_simulated)
        fprintf(out, "simulated on platform %s, not measured on this machine\n", report->platform);
    const char *plural = report->cores == 1 ? "" : "s";
    if (report->is_oversubscribed && report->is_simulated)
        fprintf(out, "* %d ranks share %d %s%s\n", report->ranks, report->cores, report->trains_on, plural);
    else if (report->is_oversubscribed)
        fprintf(out, "* %d ranks share %d %s%s: ranks with their own %ss would take other times\n", report->ranks,
                report->cores, report->trains_on, plural, report->trains_on);
}

/* Print "+11.0 ms against the formula: +9.0 local, +2.0 transfer", with the terms that make up most of the gap and as many decimals
 * as the step has. Print nothing if the formula cannot predict the case. */
static void explain_gap(FILE *out, const struct outcome *o)
{
    const struct step_means *mean = &o->summary.mean;
    const struct prediction *p = &o->prediction;
    const struct {
        const char *name;
        double gap;
    } terms[] = { { "data", mean->data - p->data },
                  { "local", mean->local - p->local },
                  { "host", mean->host - p->host },
                  { "wait", mean->wait - p->wait },
                  { "transfer", mean->transfer - p->transfer } };
    int decimals = number_ms_decimals(mean->step);
    double last_digit = 1e-3 * pow(10, -decimals), gap = mean->step - prediction_step(p);
    gap = fabs(gap) < last_digit / 2 ? 0 : gap; /* printed as 0, so without a sign */
    double percent = 100 * gap / prediction_step(p);
    if (isnan(percent))
        return;
    fprintf(out, "%s: %+.*f ms against the formula (%+.0f %%)", o->name, decimals, 1e3 * gap, percent);
    const char *before = ": ";
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++)
        if (fabs(terms[i].gap) >= 5 * last_digit) {
            fprintf(out, "%s%+.*f %s", before, decimals, 1e3 * terms[i].gap, terms[i].name);
            before = ", ";
        }
    fputs(".\n", out);
}

/* Print the cost of the stamps. A phase takes one stamp, a collective two. */
static void explain_stamps(FILE *out, const struct report *report)
{
    const struct outcome *o = &report->outcomes[0];
    int stamps = 0;
    for (int i = 0; i < o->picture.count; i++) { /* spans of rank 0 */
        const struct span *span = &o->picture.spans[i];
        if (span->step >= o->picture.first_step)
            stamps += span_is_phase(span) ? 1 : 2;
    }
    double per_step = (double)stamps / o->picture.steps;
    fprintf(out, "Measuring took %.1f time stamps a step at %.0f ns each: %.4f %% of the step.\n", per_step,
            1e9 * report->stamp_cost, 100 * per_step * report->stamp_cost / o->summary.mean.step);
}

/* Print the largest run-queue delay of the baseline, where no rank has an async helper. Ranks that outnumber the cores queue for
 * each other. */
static void explain_queue(FILE *out, const struct report *report)
{
    const struct outcome *baseline = &report->outcomes[0];
    const struct case_stats *t = &baseline->stats;
    int worst = 0;
    for (int rank = 1; rank < t->ranks; rank++)
        worst = t->queued[rank] > t->queued[worst] ? rank : worst;
    double share = t->queued[worst] / t->sum[worst].step;
    if (!interference_is_significant(share) || strcmp(report->trains_on, "core") != 0)
        return;
    if (baseline->shares_cores)
        fprintf(out, "For %.0f %% of %s rank %d was ready, but other ranks used its core.\n", 100 * share,
                baseline->name, worst);
    else
        fprintf(out,
                "Other programs used rank %d's core for %.0f %% of %s: an idle machine would give other numbers.\n",
                worst, 100 * share, baseline->name);
}

void table_explain(FILE *out, const struct report *report, const char *name)
{
    const struct outcome *baseline = &report->outcomes[0], *o = report_find_case(report, name);
    if (baseline->stats.wrong.count || (o && o->stats.wrong.count))
        return;
    fputc('\n', out);
    explain_gap(out, baseline);
    if (o && o != baseline)
        explain_gap(out, o);
    if (!report->is_simulated) /* reading a simulated clock takes no time */
        explain_stamps(out, report);
    explain_queue(out, report);
    if (o && o != baseline)
        table_blame(out, report, o);
    bound_show(out, o ? o : baseline, baseline);
}

/* Print the baseline's gain if all ranks were as fast as the median rank: noise alone makes a what-if step shorter. */
static void put_own_gain(FILE *out, const struct case_summary *baseline)
{
    double gain = baseline->mean.step - baseline->what_if;
    int decimals = number_ms_decimals(baseline->mean.step);
    if (isnan(gain))
        return;
    gain = fabs(gain) < 0.5e-3 * pow(10, -decimals) ? 0 : gain; /* printed as 0, so without a sign */
    fprintf(out, " and would %s %.*f ms the same way", gain < 0 ? "lose" : "gain", decimals, 1e3 * fabs(gain));
}

void table_blame(FILE *out, const struct report *report, const struct outcome *o)
{
    const struct outcome *baseline = &report->outcomes[0];
    const struct case_summary *s = &o->summary;
    if (isnan(s->mean.wait)) {
        fputs("Which rank waited for which is not known here.\n", out);
        return;
    }
    double share = s->mean.step > 0 ? s->mean.wait / s->mean.step : 0; /* a step may take no time */
    const char *word = report->is_simulated ? "core" : report->trains_on;
    if (s->blamed_rank >= 0)
        fprintf(out, "Of every 100 %s-seconds of %s, %.0f waited for rank %d.\n", word, o->name,
                100 * s->blamed_wait / (s->mean.step * o->stats.ranks), timeline_rank(&o->picture, s->blamed_rank));
    else
        fprintf(out, "Of every 100 %s-seconds of %s, %.0f were spent waiting; %s.\n", word, o->name, 100 * share,
                s->is_too_short ? "too few steps to tell a cause from chance" : "no rank stands out as the cause");
    if (isnan(s->what_if)) /* the ranks' waits do not come in one order */
        fputs("How long a step would take if every rank were as fast as the median rank is not known here", out);
    else
        fprintf(out,
                "If every rank were as fast as the median rank, a step would take %.*f ms (computed from %s alone)",
                number_ms_decimals(s->what_if), 1e3 * s->what_if, o->name);
    bool is_alone = o == baseline;    /* then the case is compared with itself */
    if (!baseline->stats.wrong.count) /* else the baseline failed a check, so its speed is not shown */
        fprintf(out, ";\n%s took %.*f ms", is_alone ? "a step" : "the baseline",
                number_ms_decimals(baseline->summary.mean.step), 1e3 * baseline->summary.mean.step);
    if (!baseline->stats.wrong.count && !is_alone)
        put_own_gain(out, &baseline->summary);
    fputs(".\n", out);
}

static void put_rank(FILE *out, const struct outcome *o, int rank, int collectives, int decimals)
{
    const struct case_stats *t = &o->stats;
    const struct cell *sum = &t->sum[rank];
    double local = sum->phase[SPAN_FORWARD] + sum->phase[SPAN_BACKWARD] + sum->phase[SPAN_UPDATE];
    const double terms[] = { sum->step,  sum->phase[SPAN_DATA],
                             local,      sum->phase[SPAN_HOST] + sum->phase[SPAN_OTHER],
                             sum->wait,  sum->transfer,
                             sum->caused };
    fprintf(out, "rank %-4d", timeline_rank(&o->picture, rank));
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++)
        put_ms(out, 8, decimals, terms[i] / t->steps);
    if (collectives > 0)
        fprintf(out, " %5.0f%%\n", 100.0 * sum->last / collectives);
    else
        fprintf(out, " %6s\n", "-");
}

void table_ranks(FILE *out, const struct outcome *o)
{
    enum { RANKS_SHOWN = 16 };
    const struct case_stats *t = &o->stats;
    int *order = memory_new((size_t)t->ranks, sizeof *order);
    const int collectives = case_stats_last_arrivals(t), shown = t->ranks > RANKS_SHOWN ? RANKS_SHOWN : t->ranks;
    for (int rank = 0; rank < t->ranks; rank++)
        order[rank] = rank;
    if (shown < t->ranks)
        case_stats_order(t, order);
    fprintf(out, "\n%-9s %8s %8s %8s %8s %8s %8s %8s %6s\n", "ms a step", "step", "data", "local", "host", "wait",
            "transfer", "caused", "last");
    for (int i = 0; i < shown; i++)
        put_rank(out, o, order[i], collectives, number_ms_decimals(o->summary.slowest_step));
    if (shown < t->ranks)
        fprintf(out, "… and %d more ranks, for which the others waited less (ranks.csv)\n", t->ranks - shown);
    fputs("local: forward, backward, update; caused: waiting of all other ranks, charged to this rank;\nlast: share of "
          "the collectives with a single last rank in which this rank was last\n",
          out);
    free(order);
}
