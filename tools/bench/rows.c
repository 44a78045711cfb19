#include "rows.h"

#include "base/csv.h"
#include "base/files.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void rows_open(struct rows *rows, const char *folder, const char *preamble, const struct provenance *provenance)
{
    *rows = (struct rows){ .folder = memory_text("%s", folder),
                           .preamble = memory_text("%s", preamble),
                           .provenance = *provenance };
}

void rows_close(struct rows *rows)
{
    for (int i = 0; i < rows->count; i++) {
        free(rows->row[i].what);
        free(rows->row[i].beside);
    }
    free(rows->row);
    free(rows->folder);
    free(rows->preamble);
}

void rows_tell(struct rows *rows, const char *key, const char *value)
{
    char *longer = memory_text("%s# %s: %s\n", rows->preamble, key, value);
    free(rows->preamble);
    rows->preamble = longer;
}

static const char *holds(const struct bench_row *row)
{
    if (isnan(row->goal))
        return "";
    const struct ratio *ratio = &row->ratio;
    return ratio->high <= row->goal && ratio->low >= row->least ? "yes"
           : ratio->low > row->goal || ratio->high < row->least ? "no"
                                                                : "not resolved"; /* also without interval */
}

static void write_all(const struct rows *rows)
{
    struct file file = file_begin(rows->folder, "bench.csv");
    struct csv csv = { .out = file.out };
    fputs(rows->preamble, file.out);
    for (int i = 0; i < rows->count; i++) {
        const struct bench_row *row = &rows->row[i];
        do {
            csv_text(&csv, "what", row->what);
            csv_number(&csv, "ours", row->ours);
            csv_number(&csv, "reference", row->reference);
            csv_ratio(&csv, "ratio", row->ratio.value);
            csv_ratio(&csv, "low", row->ratio.low);
            csv_ratio(&csv, "high", row->ratio.high);
            csv_number(&csv, "goal", row->goal);
            csv_text(&csv, "holds", holds(row));
            provenance_columns(&rows->provenance, &csv);
            csv_integer(&csv, "starts", row->starts);
            csv_index(&csv, "disturbed", row->disturbed);
            csv_text(&csv, "beside", row->beside);
            csv_number(&csv, "least", row->least > 0 ? row->least : (double)NAN);
        } while (csv_end_row(&csv));
    }
    file_commit(&file);
}

enum { WHAT_WIDTH = 68 };

void rows_heading(const char *title)
{
    printf("\n%-*s%12s%12s%9s  %-17s%10s\n", WHAT_WIDTH, title, "ours", "reference", "ratio", "95 %", "goal");
    fflush(stdout);
}

/* Return the decimals to print: a ratio near 0.001 needs more than one near 1. */
static int decimals(double ratio)
{
    return fabs(ratio) < 0.1 ? 5 : 3;
}

static void show(const struct bench_row *row)
{
    const struct ratio *r = &row->ratio;
    char interval[48] = "", goal[32] = "", disturbed[48] = "";
    if (!isnan(r->low))
        snprintf(interval, sizeof interval, "[%.*f %.*f]", decimals(r->low), r->low, decimals(r->low), r->high);
    if (!isnan(row->goal))
        snprintf(goal, sizeof goal, "%g", row->goal);
    if (!isnan(row->goal) && row->least > 0)
        snprintf(goal, sizeof goal, "%.3g-%.3g", row->least, row->goal);
    if (row->disturbed > 0)
        snprintf(disturbed, sizeof disturbed, "%s(%d of %d disturbed)", *holds(row) ? " " : "", row->disturbed,
                 row->starts);
    printf("%-*s%12.5g%12.5g%9.*f  %-17s%10s  %s%s\n", WHAT_WIDTH, row->what, row->ours, row->reference,
           decimals(r->value), r->value, interval, goal, holds(row), disturbed);
    fflush(stdout);
}

static void add(struct rows *rows, struct bench_row row)
{
    rows->row = memory_grow(rows->row, ((size_t)rows->count + 1) * sizeof *rows->row);
    rows->row[rows->count++] = row;
    show(&row);
    write_all(rows);
}

void rows_add_starts(struct rows *rows, const struct compared *c)
{
    double *values = memory_new(3 * (size_t)c->count + 1, sizeof *values);
    double *mine = values, *theirs = values + c->count, *logs = values + 2 * (ptrdiff_t)c->count;
    int kept = 0, disturbed = 0;
    for (int i = 0; i < c->count; i++) {
        if (isnan(c->ours[i]) || isnan(c->reference[i]))
            continue;
        disturbed += c->is_disturbed && c->is_disturbed[i];
        mine[kept] = c->ours[i];
        theirs[kept] = c->reference[i];
        logs[kept++] = log(c->ours[i] / c->reference[i]);
    }
    if (kept > 0)
        add(rows, (struct bench_row){ .what = c->what,
                                      .beside = memory_text("%s", c->beside ? c->beside : ""),
                                      .ours = c->per_second * stats_lower_median(mine, kept),
                                      .reference = c->per_second * stats_lower_median(theirs, kept),
                                      .ratio = stats_ratio(logs, kept),
                                      .least = c->least,
                                      .goal = c->goal,
                                      .starts = kept,
                                      .disturbed = c->is_disturbed ? disturbed : -1 });
    else
        free(c->what);
    free(values);
}
