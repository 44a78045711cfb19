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
    for (int i = 0; i < rows->count; i++)
        free(rows->row[i].what);
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
    return row->ratio.high <= row->goal ? "yes"
           : row->ratio.low > row->goal ? "no"
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
        } while (csv_end_row(&csv));
    }
    file_commit(&file);
}

enum { WHAT_WIDTH = 68 };

void rows_heading(const char *title)
{
    printf("\n%-*s%12s%12s%9s  %-17s%7s\n", WHAT_WIDTH, title, "ours", "reference", "ratio", "95 %", "goal");
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
    char interval[48] = "", goal[16] = "";
    if (!isnan(r->low))
        snprintf(interval, sizeof interval, "[%.*f %.*f]", decimals(r->low), r->low, decimals(r->low), r->high);
    if (!isnan(row->goal))
        snprintf(goal, sizeof goal, "%g", row->goal);
    printf("%-*s%12.5g%12.5g%9.*f  %-17s%7s  %s\n", WHAT_WIDTH, row->what, row->ours, row->reference,
           decimals(r->value), r->value, interval, goal, holds(row));
    fflush(stdout);
}

static void add(struct rows *rows, struct bench_row row)
{
    rows->row = memory_grow(rows->row, ((size_t)rows->count + 1) * sizeof *rows->row);
    rows->row[rows->count++] = row;
    show(&row);
    write_all(rows);
}

void rows_add_rounds(struct rows *rows, char *what, double per_second, const double *ours, const double *reference,
                     int count, double goal)
{
    double *values = memory_new(3 * (size_t)count + 1, sizeof *values);
    double *mine = values, *theirs = values + count, *logs = values + 2 * (ptrdiff_t)count;
    int kept = 0;
    for (int i = 0; i < count; i++) {
        if (isnan(ours[i]) || isnan(reference[i]))
            continue;
        mine[kept] = ours[i];
        theirs[kept] = reference[i];
        logs[kept++] = log(ours[i] / reference[i]);
    }
    if (kept > 0)
        add(rows, (struct bench_row){ .what = what,
                                      .ours = per_second * stats_lower_median(mine, kept),
                                      .reference = per_second * stats_lower_median(theirs, kept),
                                      .ratio = stats_ratio(logs, kept),
                                      .goal = goal });
    else
        free(what);
    free(values);
}
