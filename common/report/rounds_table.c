#include "report/rounds_table.h"

#include "base/die.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- rows of this run ------------------------------------------------------------------------------------------- */

/* Return the case's round, with NaN instead of times after a failed check. The baseline of another program's job may have fewer
 * rounds. */
static struct round_stats round_of(const struct outcome *o, int round)
{
    if (!o->stats.wrong.count && round < o->stats.rounds)
        return o->stats.round[round];
    return (struct round_stats){ .slowest_step = NAN,
                                 .rank_skew = NAN,
                                 .mean = step_means_unknown,
                                 .charges = { .rank = -1, .most = NAN, .all = NAN },
                                 .conditions = { .at = NAN, .taken_share = NAN } };
}

/* Throughput per rank of a round over that of the reference case in the same round; NaN without a reference. */
static double efficiency_of(const struct report *report, const struct outcome *o, int round)
{
    const struct outcome *per = o->per ? report_find_case(report, o->per) : NULL;
    if (!per)
        return NAN;
    return report_throughput_per_rank(o, round_of(o, round).slowest_step) /
           report_throughput_per_rank(per, round_of(per, round).slowest_step);
}

static void put_round(struct csv *csv, const struct report *report, const struct outcome *o, int round, int launch)
{
    const struct round_stats s = round_of(o, round), reference = round_of(&report->outcomes[0], round);
    const struct drifted then = o->then ? o->then[round] : drifted_unknown;
    const struct token_means *tokens = o->tokens ? &o->tokens->means : NULL;
    const double step = csv_printed(s.slowest_step);
    csv_text(csv, "case", o->name);
    csv_integer(csv, "round", round);
    csv_ms(csv, "slowest_step_ms", s.slowest_step);
    csv_number(csv, "vs_baseline",
               reference.slowest_step > 0 ? step / csv_printed(reference.slowest_step) : (double)NAN);
    csv_integer(csv, "launch", launch);
    csv_integer(csv, "steps", o->stats.steps / o->stats.rounds);
    csv_number(csv, "samples_per_s", report_samples(o) / step);
    csv_number(csv, "useful_tokens_per_s", tokens ? tokens->useful / step : (double)NAN);
    csv_number(csv, "padded_tokens_per_s", tokens ? tokens->padded / step : (double)NAN);
    csv_number(csv, "efficiency", efficiency_of(report, o, round));
    csv_ms(csv, "rank_skew_ms", s.rank_skew);
    report_put_means(csv, &s.mean);
    csv_ms(csv, "blog_compute_ms", report_blog_compute(&s.mean));
    csv_ms(csv, "predicted_step_ms", prediction_step(&o->prediction));
    csv_ms(csv, "predicted_then_ms", then.predicted_step);
    csv_ratio(csv, "local_drift", then.local);
    csv_ratio(csv, "transfer_drift", then.transfer);
    csv_ratio(csv, "larger_drift", then.beyond > 0 ? then.beyond : (double)NAN);
    csv_ratio(csv, "taken_share", s.conditions.taken_share);
    csv_integer(csv, "is_disturbed", s.conditions.is_disturbed);
    csv_integer(csv, "redone", s.conditions.repetitions);
    report_put_terms(csv, &then.terms);
    csv_index(csv, "charged_rank", s.charges.rank);
    csv_ms(csv, "charged_ms", s.charges.most);
    csv_ms(csv, "charged_total_ms", s.charges.all);
}

/* --- rows of earlier runs --------------------------------------------------------------------------------------- */

/* Return the name of a header line in which an earlier table differs from this run's; NULL if the runs are alike. */
static const char *difference(const struct csv_table *earlier, const struct csv_table *ours)
{
    static const char *const keys[] = { "lockstep", "settings", "machine", "device",   "hosts",
                                        "cores",    "backend",  "kernel",  "algorithm" };
    const char *found = NULL;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !found; i++) {
        char *before = csv_comment(earlier, keys[i], 0), *now = csv_comment(ours, keys[i], 0);
        if (before && now ? strcmp(before, now) != 0 : before != now)
            found = keys[i];
        free(before);
        free(now);
    }
    return found;
}

bool rounds_table_has_alike(const struct report *report, const char *name)
{
    char *path = memory_text("%s/%s", report->folder, name), why[256];
    struct csv_table table, ours = { .text = (char *)report->preamble };
    const bool is_there = csv_read(path, &table, why, sizeof why);
    const bool is_alike = is_there && !difference(&table, &ours);
    if (is_there)
        csv_free(&table);
    free(path);
    return is_alike;
}

/* Rows that earlier launches of the same command left. */
struct earlier_rounds {
    struct csv_table table; /* no rows if there are none to keep */
    int launches;
};

static struct earlier_rounds read_earlier(const struct report *report)
{
    struct earlier_rounds earlier = { 0 };
    char *path = memory_text("%s/rounds.csv", report->folder), why[256];
    struct csv_table ours = { .text = (char *)report->preamble };
    if (!csv_read(path, &earlier.table, why, sizeof why)) {
        free(path);
        return (struct earlier_rounds){ 0 }; /* there are none, or another program wrote the file */
    }
    const char *differs = difference(&earlier.table, &ours);
    if (differs) {
        warn("--add-rounds begins anew: %s differs from this run in its %s", path, differs);
        csv_free(&earlier.table);
        earlier.table = (struct csv_table){ 0 };
    }
    for (int row = 0; row < earlier.table.rows; row++) {
        const int launch = (int)csv_value(&earlier.table, row, "launch");
        earlier.launches = launch + 1 > earlier.launches ? launch + 1 : earlier.launches;
    }
    free(path);
    return earlier;
}

/* Repeat a row as it was. */
static void put_again(struct csv *csv, const struct csv_table *table, int row)
{
    for (int column = 0; column < table->columns; column++)
        csv_text(csv, table->cell[column], table->cell[(row + 1) * table->columns + column]);
}

void rounds_table_write(const struct report *report)
{
    struct earlier_rounds earlier = { 0 };
    if (report->keeps_rounds)
        earlier = read_earlier(report);
    struct csv csv = report_begin_table(report, "rounds.csv");
    for (int row = 0; row < earlier.table.rows; row++)
        do
            put_again(&csv, &earlier.table, row);
        while (csv_end_row(&csv));
    for (int i = 0; i < report->cases; i++)
        for (int round = 0; round < report->outcomes[i].stats.rounds; round++)
            do
                put_round(&csv, report, &report->outcomes[i], round, earlier.launches);
            while (csv_end_row(&csv));
    csv_free(&earlier.table);
}
