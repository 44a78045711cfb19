#include "base/csv.h"

#include "base/die.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/number.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Begin a field. Return true if the caller must write the value; otherwise the name has been written. */
static bool begin_field(struct csv *csv, const char *name)
{
    if (csv->is_inside)
        fputc(',', csv->out);
    csv->is_inside = true;
    if (!csv->is_named)
        fputs(name, csv->out);
    return csv->is_named;
}

void csv_text(struct csv *csv, const char *name, const char *text)
{
    if (!begin_field(csv, name))
        return;
    if (text[0] != '#' && !strpbrk(text, ",\"\r\n")) {
        fputs(text, csv->out);
        return;
    }
    fputc('"', csv->out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', csv->out);
        fputc(*text, csv->out);
    }
    fputc('"', csv->out);
}

void csv_integer(struct csv *csv, const char *name, long value)
{
    if (begin_field(csv, name))
        fprintf(csv->out, "%ld", value);
}

void csv_unsigned(struct csv *csv, const char *name, uint64_t value)
{
    if (begin_field(csv, name))
        fprintf(csv->out, "%" PRIu64, value);
}

void csv_index(struct csv *csv, const char *name, long value)
{
    if (begin_field(csv, name) && value >= 0)
        fprintf(csv->out, "%ld", value);
}

void csv_number(struct csv *csv, const char *name, double value)
{
    if (!begin_field(csv, name) || isnan(value))
        return;
    char text[NUMBER_TEXT];
    number_shortest(text, value);
    fputs(text, csv->out);
}

void csv_ratio(struct csv *csv, const char *name, double value)
{
    if (begin_field(csv, name) && !isnan(value))
        fprintf(csv->out, "%.9g", value);
}

void csv_ms(struct csv *csv, const char *name, double seconds)
{
    if (begin_field(csv, name) && !isnan(seconds))
        fprintf(csv->out, "%.6f", 1e3 * seconds);
}

double csv_printed(double seconds)
{
    return round(1e9 * seconds) / 1e9;
}

bool csv_end_row(struct csv *csv)
{
    fputc('\n', csv->out);
    csv->is_inside = false;
    bool was_names = !csv->is_named;
    csv->is_named = true;
    return was_names;
}

/* Read a file as text, without its byte order mark. */
static char *read_text(const char *path, char *why, int size)
{
    static const char mark[] = "\xef\xbb\xbf"; /* UTF-8 files of spreadsheets and pandas begin with these bytes */
    size_t length = 0;
    char *text = file_read(path, &length);
    if (!text) {
        snprintf(why, (size_t)size, "%.200s: %s; name a file that can be read", path, strerror(errno));
        return NULL;
    }
    if (strlen(text) < length) {
        snprintf(why, (size_t)size, "%s: contains a zero byte, so it is not a text file", path);
        free(text);
        return NULL;
    }
    if (strncmp(text, mark, strlen(mark)) == 0)
        memmove(text, text + strlen(mark), length - strlen(mark) + 1);
    return text;
}

/* Position of the reader. */
struct scan {
    char *at;
    int line; /* line number of `at`, from 1 */
};

/* Skip one line end: \n, \r\n or \r. */
static void next_line(struct scan *scan)
{
    scan->at += scan->at[0] == '\r' && scan->at[1] == '\n' ? 2 : *scan->at != '\0';
    scan->line++;
}

/* Cut out the field at scan->at, remove its quotes in place and move to the next field. Set *was_last at the end of a line.
 * Return false if a quote never closes. */
static bool cut_field(struct scan *scan, char **field, bool *was_last)
{
    char *at = scan->at, *to = at;
    *field = at;
    if (*at == '"') {
        for (at++; *at && !(at[0] == '"' && at[1] != '"'); *to++ = *at++) {
            at += at[0] == '"'; /* keep one of two quotes */
            scan->line += *at == '\n';
        }
        if (*at++ != '"')
            return false;
    }
    while (*at && !strchr(",\r\n", *at))
        *to++ = *at++;
    scan->at = at;
    *was_last = *at != ',';
    if (*was_last)
        next_line(scan);
    else
        scan->at++;
    *to = '\0';
    return true;
}

static bool append_cell(struct csv_table *table, size_t *capacity, size_t count, char *field)
{
    if (count == *capacity) {
        size_t larger = *capacity ? 2 * *capacity : 64;
        char **cells = realloc(table->cell, larger * sizeof *cells);
        if (!cells)
            return false;
        table->cell = cells;
        int *lines = realloc(table->line, larger * sizeof *lines); /* a table has at most as many rows as cells */
        if (!lines)
            return false;
        table->line = lines;
        *capacity = larger;
    }
    table->cell[count] = field;
    return true;
}

/* Read the fields of one row. Return their number, or -1 with *reason set. */
static int read_row(struct csv_table *table, struct scan *scan, size_t *capacity, size_t *count, const char **reason)
{
    int fields = 0;
    for (bool was_last = false; !was_last; fields++) {
        char *field = NULL;
        if (!cut_field(scan, &field, &was_last)) {
            *reason = "a quote is never closed; close it or remove it";
            return -1;
        }
        if (!append_cell(table, capacity, (*count)++, field)) {
            *reason = "too large for the memory of this machine";
            return -1;
        }
    }
    return fields;
}

bool csv_read(const char *path, struct csv_table *table, char *why, int size)
{
    *table = (struct csv_table){ .text = read_text(path, why, size), .rows = -1 };
    if (!table->text)
        return false;
    size_t capacity = 0, count = 0;
    struct scan scan = { .at = table->text, .line = 1 };
    while (*scan.at) {
        if (strchr("#\r\n", *scan.at)) {
            scan.at += strcspn(scan.at, "\r\n");
            next_line(&scan);
            continue;
        }
        int line = scan.line;
        const char *reason = NULL;
        int fields = read_row(table, &scan, &capacity, &count, &reason);
        if (table->rows < 0)
            table->columns = fields;
        if (reason)
            snprintf(why, (size_t)size, "%s:%d: %s", path, line, reason);
        else if (fields != table->columns)
            snprintf(why, (size_t)size, "%s:%d: %d fields, but the header has %d; write every field, blank ones too",
                     path, line, fields, table->columns);
        if (fields != table->columns || reason) {
            csv_free(table);
            return false;
        }
        table->line[++table->rows] = line;
    }
    if (table->rows < 0) {
        snprintf(why, (size_t)size, "%s: no header line; the first line names the columns", path);
        csv_free(table);
        return false;
    }
    return true;
}

void csv_free(struct csv_table *table)
{
    free(table->cell);
    free(table->line);
    free(table->text);
    *table = (struct csv_table){ 0 };
}

struct csv_table csv_open(const char *path, const char *const *columns)
{
    struct csv_table table;
    char why[320];
    if (!csv_read(path, &table, why, sizeof why))
        die(STATUS_USAGE, "%s", why);
    csv_require(&table, path, columns);
    return table;
}

void csv_require(const struct csv_table *table, const char *path, const char *const *columns)
{
    for (; *columns; columns++)
        if (csv_column(table, *columns) < 0)
            die(STATUS_USAGE, "%s: no column '%s' in the header line", path, *columns);
}

struct csv_table csv_open_in(const char *folder, const char *name, const char *const *columns)
{
    char *path = memory_text("%s/%s", folder, name);
    struct csv_table table = csv_open(path, columns);
    free(path);
    return table;
}

struct csv_table csv_open_if_there(const char *path, const char *const *columns)
{
    return access(path, F_OK) == 0 ? csv_open(path, columns) : (struct csv_table){ 0 };
}

int csv_column(const struct csv_table *table, const char *name)
{
    for (int column = 0; column < table->columns; column++)
        if (strcmp(table->cell[column], name) == 0)
            return column;
    return -1;
}

const char *csv_field(const struct csv_table *table, int row, const char *name)
{
    int column = csv_column(table, name);
    bool is_there = column >= 0 && row >= 0 && row < table->rows;
    return is_there ? table->cell[(row + 1) * table->columns + column] : NULL;
}

double csv_value(const struct csv_table *table, int row, const char *name)
{
    const char *field = csv_field(table, row, name);
    char *end = NULL;
    double value = field ? strtod(field, &end) : NAN;
    return field && end != field && *end == '\0' ? value : NAN;
}

int csv_find(const struct csv_table *table, const char *name, const char *text)
{
    for (int row = 0; csv_column(table, name) >= 0 && row < table->rows; row++)
        if (strcmp(csv_field(table, row, name), text) == 0)
            return row;
    return -1;
}

char *csv_comment(const struct csv_table *table, const char *key, int n)
{
    size_t length = strlen(key);
    const char *line = table->text;
    while (line && *line && strchr("#\r\n", *line)) { /* comments end at the line of names */
        const char *end = line + strcspn(line, "\r\n");
        bool is_match = strncmp(line, "# ", 2) == 0 && strncmp(line + 2, key, length) == 0 && line[2 + length] == ':';
        if (is_match && n-- == 0) {
            const char *value = line + 2 + length + 1;
            value += strspn(value, " ");
            return memory_text("%.*s", (int)(end - value), value);
        }
        line = end + strspn(end, "\r\n");
    }
    return NULL;
}
