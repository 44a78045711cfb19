#include "tables.h"

#include "html.h"
#include "memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum column_kind { TEXT, NUMBER, RATIO, LONG_TEXT };

struct column {
    const char *name, *heading; /* in the CSV; on the page */
    enum column_kind kind;
    int decimals;  /* of a number */
    bool is_minor; /* left out where all rows say the same */
};

/* Which rows are shown: those whose field `name` says `value`, and, unless that is NULL, whose verdict says so. All where
 * there is no name. */
struct choice {
    const char *name, *value, *verdict;
};

static bool is_chosen(const struct csv_table *table, int row, struct choice choice)
{
    const char *field = choice.name ? csv_field(table, row, choice.name) : NULL;
    const char *verdict = choice.verdict ? csv_field(table, row, "verdict") : NULL;
    bool is_verdict = !choice.verdict || (verdict && strcmp(verdict, choice.verdict) == 0);
    return is_verdict && (!choice.name || (field && strcmp(field, choice.value) == 0));
}

/* Whether a column says something: it is not blank, and, where it is a minor one, not the same in all rows. */
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

/* "1.78 [1.70, 1.87]"; what contains 1 is no finding. */
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

static void put_field(FILE *out, const struct csv_table *table, int row, const struct column *column)
{
    const char *field = csv_field(table, row, column->name);
    if (column->kind == RATIO)
        put_ratio(out, table, row, column->name);
    else if (column->kind == NUMBER && !isnan(csv_value(table, row, column->name)))
        html_number(out, csv_value(table, row, column->name), column->decimals);
    else if (column->kind == LONG_TEXT)
        html_long_cell(out, field ? field : "");
    else
        html_cell(out, field ? field : "");
}

/* Columns (a nameless one ends them) that no chosen row fills are left out. False, and nothing written, for no row. */
static bool put_table(FILE *out, const char *caption, const struct csv_table *table, const struct column *columns,
                      struct choice choice)
{
    int count = 0;
    for (int row = 0; row < table->rows; row++)
        count += is_chosen(table, row, choice);
    if (count == 0)
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

/* How many decimals a table of milliseconds needs: as its shortest step. */
static int decimals_of(const struct csv_table *table, const char *name)
{
    double least = INFINITY;
    for (int row = 0; row < table->rows; row++)
        least = fmin(least, csv_value(table, row, name));
    return least < 1 ? 3 : least < 10 ? 2 : 1;
}

void tables_cases(FILE *out, const struct finding *finding)
{
    int ms = decimals_of(&finding->summary, "slowest_step_ms");
    bool counts_tokens = !isnan(csv_value(&finding->summary, 0, "useful_tokens_per_s"));
    const struct column columns[] = {
        { "case", "case", TEXT, 0, false },
        { "ranks", "ranks", NUMBER, 0, true },
        { "batch_size", "batch", NUMBER, 0, true },
        { "predicted_step_ms", "formula", NUMBER, ms, false },
        { "slowest_step_ms", finding->is_simulated ? "simulated" : "measured", NUMBER, ms, false },
        { "vs_baseline", "× baseline", RATIO, 2, false },
        { "useful_tokens_per_s", "useful tokens/s", NUMBER, 0, false },
        { counts_tokens ? "" : "samples_per_s", "samples/s", NUMBER, 0, false }, /* one pace is enough */
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
    char *caption = memory_text("Each case, %s. Times in ms per step; data to transfer are means over ranks; × "
                                "baseline with its 95 %% interval",
                                finding->place);
    put_table(out, caption, &finding->summary, columns, (struct choice){ 0 });
    free(caption);
}

/* As it is, with numbers of no more than five digits. */
bool tables_other(FILE *out, const struct finding *finding, const char *stem)
{
    char *path = memory_text("%s/%s.csv", finding->path, stem), why[200];
    struct csv_table table;
    bool is_there = csv_read(path, &table, why, sizeof why) && table.rows > 0;
    free(path);
    if (!is_there)
        return false;
    char *caption = memory_text("%s.csv, %s", stem, finding->place);
    html_table(out, caption);
    html_row(out);
    for (int column = 0; column < table.columns; column++)
        html_head(out, table.cell[column]);
    for (int row = 0; row < table.rows; row++) {
        html_row(out);
        for (int column = 0; column < table.columns; column++) {
            const char *name = table.cell[column];
            double value = csv_value(&table, row, name);
            char *text = isnan(value) ? NULL : memory_text("%.5g", value);
            bool is_integer = !isnan(value) && value == floor(value) && fabs(value) < 1e15;
            if (text)
                fprintf(out, "<td class=\"n\">%s</td>", is_integer ? csv_field(&table, row, name) : text);
            else
                html_cell(out, csv_field(&table, row, name));
            free(text);
        }
    }
    html_table_end(out);
    free(caption);
    csv_free(&table);
    return true;
}

bool tables_closing(FILE *out, const struct csv_table *closing, const char *lab, bool published_only)
{
    static const struct {
        const char *name, *heading;
    } numbers[] = { { "published_ms", "published" },
                    { "blog_machine_ms", "blog's machine, simulated" },
                    { "dedicated_cores_ms", "dedicated cores, simulated" },
                    { "here_ms", "here, measured" } };
    enum { NUMBERS = sizeof numbers / sizeof *numbers };
    bool has_any = false, has_mark = false;
    for (int row = 0; row < closing->rows; row++) {
        bool is_wanted = !lab || strcmp(csv_field(closing, row, "lab"), lab) == 0;
        if (!is_wanted || (published_only && isnan(csv_value(closing, row, "published_ms"))))
            continue;
        if (!has_any) {
            html_table(out, published_only ? "The published cases: step of the slowest rank, in ms"
                                           : "Every case: step of the slowest rank, in ms");
            html_row(out);
            if (!lab)
                html_head(out, "lab");
            html_head(out, "case");
            for (int i = 0; i < NUMBERS; i++)
                html_head(out, numbers[i].heading);
            html_head(out, "verdict");
        }
        has_any = true;
        html_row(out);
        if (!lab)
            html_cell(out, csv_field(closing, row, "lab"));
        html_cell(out, csv_field(closing, row, "case"));
        bool is_shared = csv_value(closing, row, "oversubscribed") > 0;
        for (int i = 0; i < NUMBERS; i++) {
            double value = csv_value(closing, row, numbers[i].name);
            bool is_marked = is_shared && i == NUMBERS - 1 && !isnan(value);
            has_mark |= is_marked;
            if (is_marked)
                fprintf(out, "<td class=\"n\">%.2f *</td>", value);
            else
                html_number(out, value, 2);
        }
        html_cell(out, csv_field(closing, row, "verdict"));
    }
    if (has_any)
        html_table_end(out);
    if (has_mark)
        fputs("<p class=\"note\">* more ranks than cores: they share time.</p>\n", out);
    return has_any;
}

/* "slowest_step_ms is 53.5, must be ~ 65.9 within 0.15", and why. */
static void put_claim(FILE *out, const struct csv_table *claims, int row)
{
    const char *reason = csv_field(claims, row, "reason"), *relation = csv_field(claims, row, "relation");
    double tolerance = csv_value(claims, row, "tolerance");
    html_row(out);
    html_cell(out, csv_field(claims, row, "verdict"));
    html_cell(out, csv_field(claims, row, "case"));
    html_cell(out, csv_field(claims, row, "place"));
    html_cell(out, csv_field(claims, row, "id"));
    char *within = tolerance > 0 ? memory_text(" within %g", tolerance) : memory_text("%s", "");
    char *text = memory_text("%s is %s, must be %s %s%s%s%s", csv_field(claims, row, "quantity"),
                             csv_field(claims, row, "came_to"), relation, csv_field(claims, row, "value"), within,
                             *reason ? "; " : "", reason);
    html_long_cell(out, text);
    html_long_cell(out, csv_field(claims, row, "why"));
    free(text);
    free(within);
}

static void put_claims(FILE *out, const char *caption, const struct csv_table *claims, struct choice choice)
{
    static const char *const heads[] = { "verdict", "case", "place", "claim", "what it came to", "why" };
    html_table(out, caption);
    html_row(out);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        html_head(out, heads[i]);
    for (int row = 0; row < claims->rows; row++)
        if (is_chosen(claims, row, choice))
            put_claim(out, claims, row);
    html_table_end(out);
}

bool tables_claims(FILE *out, const struct csv_table *claims, const char *lab)
{
    static const char *const verdicts[] = { "holds", "fails", "not testable" };
    int count[3] = { 0 };
    for (int row = 0; row < claims->rows; row++)
        for (int i = 0; i < 3 && strcmp(csv_field(claims, row, "lab"), lab) == 0; i++)
            count[i] += strcmp(csv_field(claims, row, "verdict"), verdicts[i]) == 0;
    if (count[0] + count[1] + count[2] == 0)
        return false;
    fprintf(out, "<p>In this run %d of these claims hold, %d fail, %d cannot be tested here.</p>\n", count[0], count[1],
            count[2]);
    if (count[1] > 0)
        put_claims(out, "Claims that fail", claims, (struct choice){ "lab", lab, "fails" });
    fputs("<details><summary>All of them, with what they came to</summary>\n", out);
    put_claims(out, "What must hold, and whether it does", claims, (struct choice){ "lab", lab, NULL });
    fputs("</details>\n", out);
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
        { "rank", "its rank", TEXT, 0, false },
        { "answered_case", "you said", TEXT, 0, false },
        { "answered_rank", "your rank", TEXT, 0, false },
        { "right", "right", TEXT, 0, false },
        { 0 },
    };
    put_table(out, "Blind runs", games, columns, (struct choice){ 0 });
}
