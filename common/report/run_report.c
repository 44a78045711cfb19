#include "report/run_report.h"

#include "analysis/matched_collectives.h"
#include "base/memory.h"
#include "model/token_table.h"
#include "report/memory_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct drifted drifted_unknown = { NAN, NAN, NAN, NAN, PREDICTION_UNKNOWN };

struct csv report_begin_table(const struct report *report, const char *name)
{
    struct csv csv = { .out = file_set_begin(report->files, report->folder, name) };
    fputs(report->preamble, csv.out);
    return csv;
}

const struct outcome *report_find_case(const struct report *report, const char *name)
{
    for (int i = 0; i < report->cases; i++)
        if (strcmp(report->outcomes[i].name, name) == 0)
            return &report->outcomes[i];
    return NULL;
}

double report_samples(const struct outcome *outcome)
{
    if (outcome->tokens)
        return outcome->tokens->samples;
    return outcome->run.batch_size ? run_global_batch(&outcome->run) : (double)NAN;
}

double report_throughput_per_rank(const struct outcome *o, double seconds)
{
    double done = o->tokens ? o->tokens->means.useful : report_samples(o);
    return done / csv_printed(seconds) / o->run.ranks;
}

double report_efficiency(const struct report *report, const struct outcome *outcome)
{
    const struct outcome *per = outcome->per ? report_find_case(report, outcome->per) : NULL;
    if (!per)
        return NAN;
    return report_throughput_per_rank(outcome, outcome->summary.slowest_step) /
           report_throughput_per_rank(per, per->summary.slowest_step);
}

/* Means over rounds: geometric of the predicted step and of the speeds, arithmetic of the terms. */
static struct drifted mean_drift(const struct outcome *o)
{
    const int rounds = o->then ? o->stats.rounds : 0;
    if (rounds == 0)
        return drifted_unknown;
    struct drifted sum = { 0 };
    for (int round = 0; round < rounds; round++) {
        const struct drifted *then = &o->then[round];
        sum.predicted_step += log(then->predicted_step) / rounds;
        sum.local += log(then->local) / rounds;
        sum.transfer += log(then->transfer) / rounds;
        sum.terms.data += then->terms.data / rounds;
        sum.terms.local += then->terms.local / rounds;
        sum.terms.update += then->terms.update / rounds;
        sum.terms.host += then->terms.host / rounds;
        sum.terms.wait += then->terms.wait / rounds;
        sum.terms.transfer += then->terms.transfer / rounds;
    }
    sum.predicted_step = exp(sum.predicted_step);
    sum.local = exp(sum.local);
    sum.transfer = exp(sum.transfer);
    return sum;
}

void report_put_means(struct csv *csv, const struct step_means *mean)
{
    csv_ms(csv, "data_ms", mean->data);
    csv_ms(csv, "local_ms", mean->local);
    csv_ms(csv, "update_ms", mean->update);
    csv_ms(csv, "host_ms", mean->host);
    csv_ms(csv, "wait_ms", mean->wait);
    csv_ms(csv, "transfer_ms", mean->transfer);
    csv_ms(csv, "exposed_ms", mean->exposed);
}

double report_blog_compute(const struct step_means *mean)
{
    return mean->step - mean->data;
}

void report_put_terms(struct csv *csv, const struct prediction *p)
{
    csv_ms(csv, "predicted_data_ms", p->data);
    csv_ms(csv, "predicted_local_ms", p->local);
    csv_ms(csv, "predicted_update_ms", p->update);
    csv_ms(csv, "predicted_host_ms", p->host);
    csv_ms(csv, "predicted_wait_ms", p->wait);
    csv_ms(csv, "predicted_transfer_ms", p->transfer);
}

/* Write the bound of the step, and the shares of its causes, from times as they are printed. */
static void put_bound(struct csv *csv, const struct case_summary *s)
{
    static const char *const columns[SPLIT_TERMS] = { "data_share", "compute_share", "host_share", "wait_share",
                                                      "transfer_share" };
    const struct split_step *split = &s->split;
    const bool is_known = s->bound.terms && csv_printed(split->step) > 0;
    csv_text(csv, "bound_by", s->bound.terms ? bound_by_name(&s->bound) : "");
    for (int term = 0; term < SPLIT_TERMS; term++) {
        const bool is_mixed = split->is_together && term >= SPLIT_WAIT;
        csv_ratio(csv, columns[term],
                  is_known && !is_mixed ? csv_printed(split->term[term]) / csv_printed(split->step) : (double)NAN);
    }
    csv_text(csv, "late_by", s->late_by >= 0 ? split_names[s->late_by] : "");
}

/* Return the bytes that a rank sends in a step, mean over ranks and the measured steps of one round; NaN if unknown. */
static double sent_bytes(const struct outcome *o)
{
    const struct timeline *t = &o->picture;
    double sent = 0;
    if (!t->spans || t->steps == 0)
        return NAN;
    struct matched_collectives matched = matched_collectives_find(t);
    for (int i = 0; i < t->ranks * t->count; i++)
        if (matched.calls[i].collective && t->spans[i].step >= t->first_step)
            sent += matched_traffic(t, matched.calls[i]).sent;
    matched_collectives_close(&matched);
    return sent / t->ranks / t->steps;
}

/* Write a row of summary.csv. All labs share columns and order; values that a lab lacks are blank. */
static void put_summary(struct csv *csv, const struct report *report, const struct outcome *o)
{
    const struct case_summary *s = &o->summary;
    const struct token_means *tokens = o->tokens ? &o->tokens->means : NULL;
    csv_text(csv, "lab", report->lab);
    csv_text(csv, "case", o->name);
    csv_text(csv, "backend", report->backend);
    csv_text(csv, "platform", report->platform);
    csv_text(csv, "device", o->device);
    csv_text(csv, "precision", report->has_only_spans ? "" : run_precision(&o->run));
    csv_integer(csv, "ranks", o->run.ranks);
    csv_index(csv, "cores", report->cores ? report->cores : -1);
    csv_index(csv, "batch_size", o->run.batch_size ? o->run.batch_size : -1);
    csv_number(csv, "global_batch_size", report_samples(o));
    csv_integer(csv, "steps", o->stats.steps);
    csv_integer(csv, "rounds", o->stats.rounds);
    csv_index(csv, "slowest_rank", timeline_rank(&o->picture, s->slowest_rank));
    csv_ms(csv, "slowest_step_ms", s->slowest_step);
    csv_ms(csv, "median_step_ms", s->median_step);
    csv_ms(csv, "p95_step_ms", s->p95_step);
    /* Rates are those of the step as it is printed: equal on all processors, whose sums differ in the last bits. */
    const double step = csv_printed(s->slowest_step);
    csv_number(csv, "samples_per_s", report_samples(o) / step);
    csv_number(csv, "useful_tokens_per_s", tokens ? tokens->useful / step : NAN);
    csv_number(csv, "padded_tokens_per_s", tokens ? tokens->padded / step : NAN);
    csv_number(csv, "padding_ratio", tokens ? tokens->padding_ratio : NAN);
    csv_ms(csv, "rank_skew_ms", s->rank_skew);
    csv_number(csv, "rank_token_spread", tokens ? tokens->spread : NAN);
    token_table_epoch(csv, o->tokens ? &o->tokens->epoch : NULL);
    report_put_means(csv, &s->mean);
    csv_ms(csv, "blog_compute_ms", report_blog_compute(&s->mean));
    csv_index(csv, "blamed_rank", timeline_rank(&o->picture, s->blamed_rank));
    csv_ms(csv, "blamed_wait_ms", s->blamed_wait);
    csv_ms(csv, "what_if_ms", s->what_if);
    csv_number(csv, "efficiency", report_efficiency(report, o));
    csv_ms(csv, "predicted_step_ms", prediction_step(&o->prediction));
    csv_text(csv, "predicted_kind",
             report->has_only_spans        ? ""
             : report->is_modelled         ? "platform"
             : o->prediction.is_timeshared ? "timeshared"
                                           : "card");
    csv_ratio(csv, "vs_baseline", s->vs_baseline.value);
    csv_ratio(csv, "vs_baseline_low", report->has_intervals ? s->vs_baseline.low : NAN);
    csv_ratio(csv, "vs_baseline_high", report->has_intervals ? s->vs_baseline.high : NAN);
    csv_number(csv, "loss", s->loss);
    csv_text(csv, "numerics", numerics_names[report->is_modelled ? NUMERICS_UNKNOWN : s->numerics]);
    csv_index(csv, "oversubscribed", report->has_only_spans ? -1 : o->shares_cores);
    csv_index(csv, "wrong", report->is_modelled && !o->stats.wrong.count ? -1 : o->stats.wrong.count);
    const struct drifted then = mean_drift(o);
    csv_ms(csv, "predicted_then_ms", then.predicted_step);
    csv_ratio(csv, "local_drift", then.local);
    csv_ratio(csv, "transfer_drift", then.transfer);
    report_put_terms(csv, &then.terms);
    csv_text(csv, "label", o->label ? o->label : o->name);
    put_bound(csv, s);
    csv_number(csv, "sent_mb", sent_bytes(o) / 1e6);
    memory_table_columns(csv, o);
}

static void put_rank(struct csv *csv, const struct outcome *o, int rank)
{
    const struct case_stats *t = &o->stats;
    const struct cell *sum = &t->sum[rank];
    const struct step_means mean = t->wrong.count ? step_means_unknown : step_means_of(sum, 1, t->steps);
    double steps = t->wrong.count ? (double)NAN : t->steps; /* NaN leaves all times blank */
    double last = 0;
    for (int r = 0; r < t->ranks; r++)
        last += t->wrong.count ? 0 : t->sum[r].last;
    csv_text(csv, "case", o->name);
    csv_integer(csv, "rank", timeline_rank(&o->picture, rank));
    csv_ms(csv, "step_ms", mean.step);
    report_put_means(csv, &mean);
    csv_ms(csv, "caused_wait_ms", sum->caused / steps);
    csv_ms(csv, "queued_ms", o->run.batch_size ? t->queued[rank] / steps : (double)NAN);
    csv_ms(csv, "blog_compute_ms", report_blog_compute(&mean));
    csv_ratio(csv, "last_share", last > 0 ? sum->last / last : NAN);
    csv_number(csv, "loss", o->run.batch_size ? t->loss[rank] : (double)NAN);
    csv_number(csv, "tokens", o->tokens ? o->tokens->useful_of[rank] : NAN);
    csv_number(csv, "samples",
               o->tokens           ? o->tokens->samples_of[rank]
               : o->run.batch_size ? t->samples[rank]
                                   : (double)NAN);
    csv_number(csv, "padded_tokens", o->tokens ? o->tokens->padded_of[rank] : NAN);
    csv_index(csv, "batches", o->tokens ? o->tokens->batches_of[rank] : -1);
}

void report_write_tables(const struct report *report)
{
    struct csv csv = report_begin_table(report, "summary.csv");
    for (int i = 0; i < report->cases; i++)
        do
            put_summary(&csv, report, &report->outcomes[i]);
        while (csv_end_row(&csv));

    csv = report_begin_table(report, "ranks.csv");
    for (int i = 0; i < report->cases; i++)
        for (int rank = 0; rank < report->outcomes[i].stats.ranks; rank++)
            do
                put_rank(&csv, &report->outcomes[i], rank);
            while (csv_end_row(&csv));
}

/* Write a row of spans.csv. `call`: of a collective. */
static void put_span(struct csv *csv, const struct timeline *t, const char *name, int rank, const struct span *span,
                     struct matched_call call)
{
    struct collective_traffic traffic = { (double)NAN, (double)NAN };
    if (call.collective)
        traffic = matched_traffic(t, call);
    csv_integer(csv, "rank", rank);
    csv_integer(csv, "round", span->round);
    csv_text(csv, "case", name);
    csv_integer(csv, "step", span->step);
    csv_text(csv, "kind", span_names[span->kind]);
    csv_index(csv, "sequence", span->sequence);
    csv_ms(csv, "start_ms", span->start);
    csv_ms(csv, "entered_ms", span->entered);
    csv_ms(csv, "end_ms", span->end);
    csv_integer(csv, "bytes", (long)span->bytes);
    csv_integer(csv, "progressed", span->progressed);
    csv_integer(csv, "measured", span->step >= t->first_step);
    csv_index(csv, "group", call.collective ? span->group : -1);
    csv_number(csv, "sent_bytes", traffic.sent);
    csv_number(csv, "received_bytes", traffic.received);
}

void report_add_spans(struct csv *csv, const struct timeline *timeline, const char *name)
{
    struct matched_collectives matched = matched_collectives_find(timeline);
    for (int rank = 0; rank < timeline->ranks; rank++)
        for (int i = 0; i < timeline->count; i++) {
            const struct span *span = &timeline->spans[rank * timeline->count + i];
            if (span->step < 0)
                continue;
            do
                put_span(csv, timeline, name, rank, span, matched.calls[span - timeline->spans]);
            while (csv_end_row(csv));
        }
    matched_collectives_close(&matched);
}
