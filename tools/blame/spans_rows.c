/* Reads the rows of a spans.csv, checks each row, and sorts the rows. */
#include "base/memory.h"
#include "base/number.h"
#include "options/run.h"
#include "spans_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SHOWN = 40, NAME_MOST = 60 };
static const double COUNT_MOST = 1e9, BYTES_MOST = 9007199254740992.0;
static const double MS_MOST = 4e12; /* Unix time in the year 2096; a trace's 63-bit nanoseconds reach twice as far */

/* Columns of the format, required ones first. reader.column holds their indices, -1 if absent. */
enum column {
    RANK,
    STEP,
    KIND,
    START,
    END,
    ROUND,
    CASE,
    SEQUENCE,
    ENTERED,
    BYTES,
    PROGRESSED,
    MEASURED,
    GROUP,
    HOST,
    COLUMNS
};
static const char *const column_names[COLUMNS] = { "rank",       "step",     "kind",     "start_ms",   "end_ms",
                                                   "round",      "case",     "sequence", "entered_ms", "bytes",
                                                   "progressed", "measured", "group",    "host" };

struct reader {
    struct spans_file *file;
    int column[COLUMNS];
    int row;
};

static int line_of(const struct reader *r)
{
    return r->file->table.line[r->row + 1];
}

/* Return the field; "" if blank or if the column is absent. */
static const char *field(const struct reader *r, enum column column)
{
    const struct csv_table *t = &r->file->table;
    return r->column[column] < 0 ? "" : t->cell[(size_t)(r->row + 1) * (size_t)t->columns + (size_t)r->column[column]];
}

static double number(const struct reader *r, enum column column, double low, double high, const char *cure)
{
    const char *text = field(r, column), *name = column_names[column];
    double value = NAN;
    if (text[0] == '\0')
        spans_file_refuse(r->file, line_of(r), "%s is blank; write %s", name, cure);
    if (!number_parse(text, &value) || !isfinite(value))
        spans_file_refuse(r->file, line_of(r), "%s is '%.*s', which is not a number; write %s", name, MOST_SHOWN, text,
                          cure);
    if (!(value >= low && value <= high))
        spans_file_refuse(r->file, line_of(r), "%s is %.*s, not from %.12g to %.12g; write %s", name, MOST_SHOWN, text,
                          low, high, cure);
    return value;
}

/* Return a whole number from 0 to `high`; 3.0 counts as whole. */
static double whole(const struct reader *r, enum column column, double high, const char *cure)
{
    double value = number(r, column, 0, high, cure);
    if (floor(value) < value)
        spans_file_refuse(r->file, line_of(r), "%s is %.*s; write %s", column_names[column], MOST_SHOWN,
                          field(r, column), cure);
    return value;
}

static double whole_or(const struct reader *r, enum column column, double high, const char *cure, double otherwise)
{
    return field(r, column)[0] ? whole(r, column, high, cure) : otherwise;
}

static enum span_kind kind_of(const struct reader *r)
{
    const char *text = field(r, KIND);
    enum span_kind kind = span_kind_named(text);
    if (kind == SPAN_KINDS) {
        char words[200] = "";
        for (int i = 0; i < SPAN_KINDS; i++)
            snprintf(words + strlen(words), sizeof words - strlen(words), "%s%s", i ? ", " : "", span_names[i]);
        spans_file_refuse(r->file, line_of(r), "kind is '%.*s'; write one of %s", MOST_SHOWN, text, words);
    }
    return kind;
}

/* Return the case name. Charts, tables and JSON contain it, so it must be one plain word. */
static const char *name_of(const struct reader *r)
{
    const char *name = field(r, CASE)[0] ? field(r, CASE) : "job";
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+";
    if (strlen(name) > NAME_MOST || name[strspn(name, letters)])
        spans_file_refuse(r->file, line_of(r), "case is '%.*s'; write one word of at most %d letters, digits, _ - . +",
                          MOST_SHOWN, name, NAME_MOST);
    return name;
}

static int case_of(const struct reader *r)
{
    struct spans_file *file = r->file;
    const char *name = name_of(r);
    int i = 0;
    while (i < file->count && strcmp(file->cases[i].name, name) != 0)
        i++;
    if (i == SPANS_CASES_MOST)
        spans_file_refuse(file, line_of(r), "more than %d cases; split the file", SPANS_CASES_MOST);
    if (i == file->count)
        file->cases[file->count++].name = name;
    return i;
}

static struct spans_row read_row(const struct reader *r)
{
    static const char milliseconds[] = "milliseconds, as 12.345678";
    struct spans_row row = { .line = line_of(r) };
    struct span *span = &row.span;
    row.rank = (int)whole(r, RANK, RANKS_MOST - 1, "the ranks' numbers, whole and from 0");
    span->step = (int32_t)whole(r, STEP, COUNT_MOST, "the step's number, whole and from 0");
    span->kind = (uint8_t)kind_of(r);
    span->start = 1e-3 * number(r, START, -MS_MOST, MS_MOST, milliseconds);
    span->end = 1e-3 * number(r, END, -MS_MOST, MS_MOST, milliseconds);
    span->round = (int32_t)whole_or(r, ROUND, COUNT_MOST, "the round's number, whole and from 0", 0);
    span->variant = case_of(r);
    span->bytes = (size_t)whole_or(r, BYTES, BYTES_MOST, "the bytes that a rank sends, a whole number", 0);
    span->progressed = whole_or(r, PROGRESSED, 1, "0 or 1", 0) > 0;
    span->to = span->from = -1;
    if (!span_is_phase(span))
        span->group = (int16_t)whole_or(r, GROUP, INT16_MAX, "the number of the group of ranks, 0 for all ranks", 0);
    row.host = field(r, HOST);
    row.is_measured = whole_or(r, MEASURED, 1, "0 or 1", 1) > 0;
    span->sequence = (int32_t)whole_or(r, SEQUENCE, COUNT_MOST, "the collective's number, whole and from 0", -1);
    bool is_entered = !span_is_phase(span) && field(r, ENTERED)[0];
    span->entered = is_entered ? 1e-3 * number(r, ENTERED, -MS_MOST, MS_MOST, milliseconds) : span->start;
    if (span->end < span->start)
        spans_file_refuse(r->file, row.line, "%s ends at %s ms, before its start at %s; take both times from one clock",
                          span_names[span->kind], field(r, END), field(r, START));
    if (!(span->start <= span->entered && span->entered <= span->end))
        spans_file_refuse(r->file, row.line,
                          "entered_ms is %s, not between start_ms %s and end_ms %s; it is when the rank "
                          "began to wait",
                          field(r, ENTERED), field(r, START), field(r, END));
    return row;
}

/* True if the row repeats the line of names, as in concatenated files. */
static bool is_names(const struct csv_table *t, int row)
{
    bool is_same = true;
    for (int i = 0; i < t->columns; i++)
        is_same &= strcmp(t->cell[(size_t)(row + 1) * (size_t)t->columns + (size_t)i], t->cell[i]) == 0;
    return is_same;
}

/* --- order ------------------------------------------------------------------------------------------------------ */

static int compare_places(const struct spans_row *x, const struct spans_row *y)
{
    if (x->span.variant != y->span.variant)
        return x->span.variant - y->span.variant;
    if (x->span.round != y->span.round)
        return x->span.round < y->span.round ? -1 : 1;
    return x->rank - y->rank;
}

static int compare_lines(const void *a, const void *b)
{
    const struct spans_row *x = a, *y = b;
    int places = compare_places(x, y);
    return places ? places : x->line - y->line;
}

/* Return the order of spans that begin at the same time: empty spans, then a phase, then a collective inside it. */
static int class_of(const struct span *span)
{
    return !(span->end > span->start) ? 0 : span_is_phase(span) ? 1 : 2;
}

static int compare_starts(const struct span *x, const struct span *y)
{
    if (x->start < y->start || x->start > y->start)
        return x->start < y->start ? -1 : 1;
    return class_of(x) - class_of(y);
}

static int compare_times(const void *a, const void *b)
{
    const struct spans_row *x = a, *y = b;
    int starts = compare_starts(&x->span, &y->span);
    if (starts)
        return starts;
    if (class_of(&x->span) == 2 && x->span.sequence != y->span.sequence)
        return x->span.sequence < y->span.sequence ? -1 : 1;
    return x->line - y->line;
}

/* True if the order of a rank's lines agrees with their times. Then it is the order of events, even of those that took no
 * time. */
static bool is_ordered(const struct spans_row *rows, int count)
{
    for (int i = 1; i < count; i++) {
        const struct span *before = &rows[i - 1].span, *span = &rows[i].span;
        bool may_follow = class_of(before) == 0 || !span_is_phase(span) || span->start > before->start;
        if (span->start < before->start || !may_follow)
            return false;
    }
    return true;
}

void spans_rows_sort(struct spans_row *rows, int count)
{
    if (!is_ordered(rows, count))
        qsort(rows, (size_t)count, sizeof *rows, compare_times);
}

struct spans_row *spans_rows_read(struct spans_file *file, int *count, bool *has_measured)
{
    struct reader reader = { .file = file };
    for (int i = 0; i < COLUMNS; i++) {
        reader.column[i] = csv_column(&file->table, column_names[i]);
        if (i <= END && reader.column[i] < 0)
            spans_file_refuse(file, file->table.line[0],
                              "no column '%s'; the file needs rank, step, kind, start_ms and end_ms", column_names[i]);
    }
    *has_measured = reader.column[MEASURED] >= 0;
    struct spans_row *rows = memory_new((size_t)file->table.rows + 1, sizeof *rows);
    int read = 0;
    for (; reader.row < file->table.rows; reader.row++)
        if (!is_names(&file->table, reader.row))
            rows[read++] = read_row(&reader);
    if (read == 0)
        spans_file_refuse(file, file->table.line[0],
                          "no row below the header line; write a row per phase and collective");
    qsort(rows, (size_t)read, sizeof *rows, compare_lines);
    for (int begin = 0, end; begin < read; begin = end) {
        for (end = begin + 1; end < read && compare_places(&rows[begin], &rows[end]) == 0;)
            end++;
        spans_rows_sort(rows + begin, end - begin);
    }
    *count = read;
    return rows;
}
