#include "tables.h"

#include "base/memory.h"
#include "base/number.h"
#include "html.h"
#include "verdicts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum column_kind { TEXT, NUMBER, RATIO, SHARED, VERDICT }; /* SHARED: a number, marked if its ranks shared cores */

struct column {
    const char *name, *heading; /* in the CSV; on the page */
    enum column_kind kind;
    int decimals;  /* for numbers */
    bool is_minor; /* omitted if equal in all rows */
};

/* Rows to show: of a lab, with a nonblank column, of the memory of rank 0 in a case. NULL: any. */
struct choice {
    const char *lab, *filled, *memory;
};

static bool says(const struct csv_table *table, int row, const char *column, const char *text)
{
    const char *field = csv_field(table, row, column);
    return field && strcmp(field, text) == 0;
}

static bool is_chosen(const struct csv_table *table, int row, struct choice choice)
{
    return (!choice.lab || says(table, row, "lab", choice.lab)) &&
           (!choice.filled || !says(table, row, choice.filled, "")) &&
           (!choice.memory || (says(table, row, "case", choice.memory) && says(table, row, "rank", "0") &&
                               says(table, row, "layer", "") && !says(table, row, "at_peak_mb", "0")));
}

static int count_chosen(const struct csv_table *table, struct choice choice)
{
    int count = 0;
    for (int row = 0; row < table->rows; row++)
        count += is_chosen(table, row, choice);
    return count;
}

/* True if a column is not blank and, if minor, not equal in all rows. */
static bool says_something(const struct csv_table *table, const struct column *column, struct choice choice)
{
    const char *first = NULL;
    bool has_any = false, differs = false;
    for (int row = 0; row < table->rows; row++) {
        const char *field = csv_field(table, row, column->name);
        if (!field || !is_chosen(table, row, choice))
            continue;
        has_any |= *field != '\0';
        differs |= first && strcmp(first, field) != 0;
        first = field;
    }
    return has_any && (differs || !column->is_minor);
}

/* Write "1.78 [1.70, 1.87]"; an interval that contains 1 is "not resolved". */
static void put_ratio(FILE *out, const struct csv_table *table, int row, const char *name)
{
    char *low_name = memory_text("%s_low", name), *high_name = memory_text("%s_high", name), *text = NULL;
    double value = csv_value(table, row, name), low = csv_value(table, row, low_name);
    double high = csv_value(table, row, high_name);
    if (isnan(value))
        text = memory_text("%s", "");
    else if (row == 0)
        text = memory_text("1");
    else if (isnan(low) || isnan(high))
        text = memory_text("%.2f", value);
    else if (low <= 1 && high >= 1)
        text = memory_text("not resolved ± %.0f %%", 100 * fmax(high - 1, 1 - low));
    else
        text = memory_text("%.2f [%.2f, %.2f]", value, low, high);
    fprintf(out, "<td class=\"n\">%s</td>", text);
    free(text);
    free(low_name);
    free(high_name);
}

/* True if the cell is blanked: a row with failed checks shows no speeds. */
static bool is_withheld(const struct csv_table *table, int row, const struct column *column)
{
    return csv_value(table, row, "wrong") > 0 && column->kind != TEXT && strcmp(column->name, "wrong") != 0;
}

static void put_field(FILE *out, const struct csv_table *table, int row, const struct column *column)
{
    const char *field = csv_field(table, row, column->name);
    double value = csv_value(table, row, column->name);
    if (is_withheld(table, row, column))
        html_cell(out, "");
    else if (column->kind == VERDICT)
        verdicts_cell(out, field, csv_field(table, row, "details"));
    else if (column->kind == RATIO)
        put_ratio(out, table, row, column->name);
    else if (column->kind == SHARED && !isnan(value) && csv_value(table, row, "oversubscribed") > 0)
        fprintf(out, "<td class=\"n\">%.*f *</td>", column->decimals, value);
    else if (column->kind != TEXT && !isnan(value))
        html_number(out, value, column->decimals);
    else
        html_cell(out, field ? field : "");
}

/* Write the chosen rows, without uninformative columns; a column without name ends the list. Return false, and write nothing, if
 * no row is chosen. */
static bool put_table(FILE *out, const char *caption, const struct csv_table *table, const struct column *columns,
                      struct choice choice)
{
    if (count_chosen(table, choice) == 0)
        return false;
    html_table(out, caption);
    html_row(out);
    for (const struct column *column = columns; column->name; column++)
        if (says_something(table, column, choice))
            html_head(out, column->heading);
    for (int row = 0; row < table->rows; row++) {
        if (!is_chosen(table, row, choice))
            continue;
        html_row(out);
        for (const struct column *column = columns; column->name; column++)
            if (says_something(table, column, choice))
                put_field(out, table, row, column);
    }
    html_table_end(out);
    return true;
}

/* Return the decimals that the shortest step of a table needs. */
static int decimals_of(const struct csv_table *table, const char *name)
{
    double least = INFINITY;
    for (int row = 0; row < table->rows; row++)
        least = fmin(least, csv_value(table, row, name));
    return number_ms_decimals(1e-3 * least);
}

void tables_cases(FILE *out, const struct finding *finding)
{
    int ms = decimals_of(&finding->summary, "slowest_step_ms");
    bool counts_tokens = !isnan(csv_value(&finding->summary, 0, "useful_tokens_per_s"));
    const struct column columns[] = {
        { "label", "case", TEXT, 0, false },
        { "case", "its name", TEXT, 0, false },
        { "ranks", "ranks", NUMBER, 0, true },
        { "batch_size", "batch", NUMBER, 0, true },
        { "predicted_step_ms", "formula", NUMBER, ms, false },
        { "slowest_step_ms", finding->is_simulated ? "simulated" : "measured", NUMBER, ms, false },
        { "vs_baseline", "× baseline", RATIO, 2, false },
        { "useful_tokens_per_s", "useful tokens/s", NUMBER, 0, false },
        { counts_tokens ? "" : "samples_per_s", "samples/s", NUMBER, 0, false }, /* one rate is enough */
        { "efficiency", "efficiency", NUMBER, 2, false },
        { "data_ms", "data", NUMBER, ms, false },
        { "local_ms", "local", NUMBER, ms, false },
        { "host_ms", "host", NUMBER, ms, true },
        { "wait_ms", "wait", NUMBER, ms, false },
        { "transfer_ms", "transfer", NUMBER, ms, false },
        { "blamed_rank", "blamed rank", NUMBER, 0, false },
        { "padding_ratio", "padding", NUMBER, 3, false },
        { "numerics", "numerics", TEXT, 0, true },
        { "wrong", "failed checks", NUMBER, 0, true },
        { 0 },
    };
    bool has_interval = false;
    for (int row = 0; row < finding->summary.rows; row++)
        has_interval |= !isnan(csv_value(&finding->summary, row, "vs_baseline_low"));
    char *caption =
        memory_text("Each case, %s. Times in ms per step; data to transfer are means over ranks%s", finding->place,
                    has_interval ? "; × baseline by paired rounds, with its 95 % interval" : "");
    put_table(out, caption, &finding->summary, columns, (struct choice){ 0 });
    free(caption);
}

static void put_any(FILE *out, const struct csv_table *table, int row, const char *name)
{
    const char *field = csv_field(table, row, name);
    double value = csv_value(table, row, name);
    bool is_integer = value == floor(value) && fabs(value) < 1e15;
    if (isnan(value))
        html_cell(out, field);
    else if (is_integer)
        fprintf(out, "<td class=\"n\">%.0f</td>", value);
    else
        fprintf(out, "<td class=\"n\">%.5g</td>", value);
}

/* Write a whole table, numbers with at most five digits. */
static void put_all(FILE *out, const char *caption, const struct csv_table *table)
{
    html_table(out, caption);
    html_row(out);
    for (int column = 0; column < table->columns; column++)
        html_head(out, table->cell[column]);
    for (int row = 0; row < table->rows; row++) {
        html_row(out);
        for (int column = 0; column < table->columns; column++)
            put_any(out, table, row, table->cell[column]);
    }
    html_table_end(out);
}

/* Read a table of a finding; it has no rows if it is missing, of another run, or lacks one of the columns (NULL ends them). */
static struct csv_table read_table(const struct finding *finding, const char *stem, const char *const *columns)
{
    char *path = memory_text("%s/%s.csv", finding->path, stem);
    struct csv_table table = csv_open_if_there(path, columns);
    free(path);
    if (table.rows > 0 && !finding_is_of_run(finding, &table)) {
        csv_free(&table);
        table = (struct csv_table){ 0 };
    }
    return table;
}

bool tables_other(FILE *out, const struct finding *finding, const char *stem)
{
    struct csv_table table = read_table(finding, stem, (const char *const[]){ NULL });
    const bool is_wanted = table.rows > 0;
    if (is_wanted) {
        char *caption = memory_text("%s.csv, %s", stem, finding->place);
        put_all(out, caption, &table);
        free(caption);
    }
    csv_free(&table);
    return is_wanted;
}

void tables_memory(FILE *out, const struct finding *finding)
{
    static const struct column columns[] = {
        { "owner", "memory of rank 0, baseline", TEXT, 0, false },
        { "place", "where", TEXT, 0, true },
        { "predicted_mb", "predicted (MB)", NUMBER, 2, false },
        { "at_peak_mb", "held (MB)", NUMBER, 2, false },
        { 0 },
    };
    struct csv_table table =
        read_table(finding, "memory", (const char *const[]){ "case", "rank", "owner", "layer", NULL });
    if (table.rows > 0)
        put_table(out, "Where memory goes", &table, columns, (struct choice){ .memory = csv_field(&table, 0, "case") });
    csv_free(&table);
}

bool tables_closing(FILE *out, const struct csv_table *closing, const char *lab, bool published_only)
{
    static const struct column columns[] = {
        { "lab", "lab", TEXT, 0, true },
        { "case", "case", TEXT, 0, false },
        { "published_ms", "published", NUMBER, 2, false },
        { "blog_machine_ms", "blog's machine, simulated", NUMBER, 2, false },
        { "dedicated_cores_ms", "dedicated cores, simulated", NUMBER, 2, false },
        { "here_ms", "here, measured", SHARED, 2, false },
        { "verdict", "verdict", VERDICT, 0, false },
        { 0 },
    };
    struct choice choice = { .lab = lab, .filled = published_only ? "published_ms" : NULL };
    if (!put_table(out,
                   published_only ? "The published cases: step of the slowest rank, in ms"
                                  : "Every case: step of the slowest rank, in ms",
                   closing, columns, choice))
        return false;
    bool has_mark = false;
    for (int row = 0; row < closing->rows; row++)
        has_mark |= is_chosen(closing, row, choice) && csv_value(closing, row, "oversubscribed") > 0;
    if (has_mark)
        fputs("<p class=\"note\">* more ranks than cores: they share time.</p>\n", out);
    if (says_something(closing, &(struct column){ .name = "dedicated_cores_ms" }, choice))
        fputs("<p class=\"note\">Dedicated cores: agreement about transfers shows consistency, not more. Links and "
              "predictions both come from this machine's all-reduces.</p>\n",
              out);
    return true;
}

void tables_guesses(FILE *out, const struct csv_table *guesses)
{
    static const struct column columns[] = {
        { "time", "when", TEXT, 0, false },
        { "lab", "lab", TEXT, 0, false },
        { "case", "case", TEXT, 0, false },
        { "platform", "on", TEXT, 0, false },
        { "guess_ms", "you (ms)", NUMBER, 1, false },
        { "predicted_step_ms", "formula (ms)", NUMBER, 1, false },
        { "slowest_step_ms", "outcome (ms)", NUMBER, 1, false },
        { 0 },
    };
    put_table(out, "Your guesses of a step", guesses, columns, (struct choice){ 0 });
}

void tables_blind(FILE *out, const struct csv_table *games)
{
    static const struct column columns[] = {
        { "time", "when", TEXT, 0, false },
        { "lab", "lab", TEXT, 0, false },
        { "case", "what it was", TEXT, 0, false },
        { "rank", "its rank or owner", TEXT, 0, false },
        { "answered_case", "you said", TEXT, 0, false },
        { "answered_rank", "your rank or owner", TEXT, 0, false },
        { "right", "right", TEXT, 0, false },
        { 0 },
    };
    put_table(out, "Blind runs", games, columns, (struct choice){ 0 });
}
