#include "generated.h"

#include "base/memory.h"
#include "number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MOST = 24, COLUMNS_MOST = 12 };

struct column {
    char *head, *format, *expression;
};

struct row {
    char *label;
    char *name; /* case; NULL: the filters leave one row */
    char *filters;
};

struct table {
    struct where where;
    char *head;
    struct row rows[ROWS_MOST];
    struct column columns[COLUMNS_MOST];
    int row_count, column_count;
};

/* --- read ----------------------------------------------------------------------------------------------------------- */

static void read_row(const struct check *check, size_t at, struct table *table, const char *line)
{
    char *parts[2] = { NULL, NULL };
    int count = marker_cut(line, parts, 2);
    bool is_filter = strchr(parts[0], '=') != NULL;
    if (table->row_count == ROWS_MOST || !*parts[0] || (is_filter && count < 2))
        refuse(check, at, "'row: %s': write row: CASE | LABEL, at most %d times", line, ROWS_MOST);
    table->rows[table->row_count++] = (struct row){
        .label = count > 1 ? parts[1] : memory_text("`%s`", parts[0]),
        .name = is_filter ? NULL : parts[0],
        .filters = is_filter ? parts[0] : NULL,
    };
}

static void read_column(const struct check *check, size_t at, struct table *table, const char *line)
{
    char *parts[3] = { NULL, NULL, NULL };
    if (marker_cut(line, parts, 3) < 3 || table->column_count == COLUMNS_MOST)
        refuse(check, at, "'column: %s': write column: HEAD | DECIMALS UNIT | EXPRESSION, at most %d times", line,
               COLUMNS_MOST);
    table->columns[table->column_count++] = (struct column){ parts[0], parts[1], parts[2] };
}

static void read_line(const struct check *check, size_t at, struct table *table, const char *line)
{
    if (strncmp(line, "row:", 4) == 0)
        read_row(check, at, table, line + 4);
    else if (strncmp(line, "column:", 7) == 0)
        read_column(check, at, table, line + 7);
    else if (strncmp(line, "head:", 5) == 0 && !table->head)
        table->head = marker_trimmed(line + 5, line + strlen(line));
    else if (*line)
        refuse(check, at, "'%s' in a table; its lines begin with head:, row: or column:", line);
}

static struct table read_table(const struct check *check, const struct comment *comment)
{
    struct table table = { .where = marker_defaults(check) };
    char bad[WHERE_WORD];
    const char *text = comment->text + strlen("table");
    size_t length = strcspn(text, "\n");
    if (!where_read(&table.where, text, length, bad))
        refuse(check, comment->begin, "'%s' is no place, table or column=value", bad);
    while (text[length]) {
        text += length + 1;
        length = strcspn(text, "\n");
        char *line = marker_trimmed(text, text + length);
        read_line(check, comment->begin, &table, line);
        free(line);
    }
    if (table.row_count == 0 || table.column_count == 0)
        refuse(check, comment->begin, "a table needs a row: and a column:");
    return table;
}

static void free_table(struct table *table)
{
    for (int i = 0; i < table->row_count; i++) {
        free(table->rows[i].label);
        free(table->rows[i].name);
        free(table->rows[i].filters);
    }
    for (int i = 0; i < table->column_count; i++) {
        free(table->columns[i].head);
        free(table->columns[i].format);
        free(table->columns[i].expression);
    }
    free(table->head);
}

/* --- write ---------------------------------------------------------------------------------------------------------- */

/* Return a field as text; "–" if blank; NULL if the run lacks it. Free it. */
static char *field_of(struct check *check, size_t at, const struct where *where, const char *name, const char *column)
{
    struct view view;
    if (!marker_view(check, at, where, &view))
        return NULL;
    if (csv_column(&view.table, column) < 0)
        refuse(check, at, "%s has no column %s", view.path, column);
    const char *field = csv_field(&view.table, name ? csv_find(&view.table, view.key, name) : 0, column);
    char *text = field ? memory_text("%s", *field ? field : "–") : NULL;
    if (!text)
        complain(check, at, "%s is not in %s", name ? name : column, view.path);
    view_close(&view);
    return text;
}

/* Return a cell of the table; NULL if the run lacks it. Free it. */
static char *cell_of(struct check *check, size_t at, const struct table *table, const struct row *row,
                     const struct column *column)
{
    struct where where = table->where;
    char bad[WHERE_WORD];
    const char *expression = marker_where(check, at, column->expression, &where), *format = column->format;
    if (row->filters && !where_read(&where, row->filters, strlen(row->filters), bad))
        refuse(check, at, "'%s' is no column=value", bad);
    if (strcmp(format, "text") == 0)
        return field_of(check, at, &where, row->name, expression);
    bool has_plus = *format == '+';
    char *unit = NULL;
    long decimals = strtol(format + has_plus, &unit, 10);
    if (unit == format + has_plus || decimals < 0 || decimals > 9)
        refuse(check, at, "'%s' is no format; write the decimals and perhaps a unit: 1 ms, +0 %%, text", format);
    double value = NAN;
    if (!marker_value(check, at, &where, row->name, expression, &value))
        return NULL;
    char *number = number_print(value, (int)decimals, true, has_plus);
    char *cell = isfinite(value) ? memory_text("%s%s", number, unit) : memory_text("–");
    free(number);
    return cell;
}

static bool put_row(FILE *out, struct check *check, size_t at, const struct table *table, const struct row *row)
{
    bool is_whole = true;
    fprintf(out, "| %s |", row->label);
    for (int i = 0; i < table->column_count; i++) {
        char *cell = cell_of(check, at, table, row, &table->columns[i]);
        is_whole &= cell != NULL;
        fprintf(out, " %s |", cell ? cell : "");
        free(cell);
    }
    fputc('\n', out);
    return is_whole;
}

char *generated_table(struct check *check, const struct comment *comment)
{
    struct table table = read_table(check, comment);
    char *text = NULL;
    size_t size = 0;
    FILE *out = memory_stream(&text, &size);
    fprintf(out, "\n| %s |", table.head ? table.head : "");
    for (int i = 0; i < table.column_count; i++)
        fprintf(out, " %s |", table.columns[i].head);
    fputs("\n|---|", out);
    for (int i = 0; i < table.column_count; i++)
        fputs(strcmp(table.columns[i].format, "text") == 0 ? "---|" : "---:|", out);
    fputc('\n', out);
    bool is_whole = true;
    for (int i = 0; i < table.row_count; i++)
        is_whole &= put_row(out, check, comment->begin, &table, &table.rows[i]);
    fclose(out);
    free_table(&table);
    if (is_whole)
        return text;
    free(text);
    return NULL;
}
