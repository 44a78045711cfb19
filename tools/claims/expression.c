#include "expression.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Parser state. */
struct reader {
    const char *at; /* the rest of the expression */
    struct reading *reading;
};

double table_setting(const struct csv_table *table, const char *flag)
{
    char *command = csv_comment(table, "command", 0);
    const char *found = command ? strstr(command, flag) : NULL;
    double value = found ? strtod(found + strlen(flag), NULL) : NAN;
    free(command);
    return value;
}

static double give_up(struct reader *r, enum trouble trouble, const char *what, const char *which)
{
    struct reading *reading = r->reading;
    if (trouble > reading->trouble) {
        reading->trouble = trouble;
        snprintf(reading->why, sizeof reading->why, "%.60s %.90s", what, which);
    }
    return NAN;
}

static bool take(struct reader *r, char sign)
{
    r->at += strspn(r->at, " ");
    bool is_next = *r->at == sign;
    r->at += is_next;
    return is_next;
}

/* Return the field of a column in the reading's round, for the case of `row` in the summary; NULL if the round has no such case. */
static const char *read_round(struct reading *reading, int row, const char *column)
{
    const struct csv_table *table = &reading->rounds->table;
    const char *name = csv_field(reading->table, row, "case");
    int at = name ? rounds_row(reading->rounds, reading->round, name) : -1;
    const char *field = csv_field(table, at, column);
    if (!field)
        return NULL;
    double value = fabs(strtod(field, NULL));
    reading->timed++;
    if (value > reading->largest)
        reading->largest = value;
    if (csv_value(table, at, "is_disturbed") > 0) {
        reading->is_disturbed = true;
        reading->taken_share = fmax(reading->taken_share, csv_value(table, at, "taken_share"));
    }
    return field;
}

/* Read a cell name. Return its field; NULL or "" after an error. */
static const char *read_cell(struct reader *r)
{
    struct reading *reading = r->reading;
    const struct csv_table *table = reading->table;
    char words[2][EXPRESSION_TEXT], *column;
    int count = 0, row = reading->row;
    do {
        size_t length = strspn(r->at, "abcdefghijklmnopqrstuvwxyz0123456789_");
        column = words[count++];
        snprintf(column, EXPRESSION_TEXT, "%.*s", (int)length, r->at);
        r->at += length;
    } while (count < 2 && take(r, '.'));
    bool is_timed = reading->rounds && csv_column(&reading->rounds->table, column) >= 0;
    if (!is_timed && csv_column(table, column) < 0) {
        give_up(r, MALFORMED, "summary.csv has no column", *column ? column : r->at);
        return NULL;
    }
    if (count == 2)
        row = csv_find(table, reading->key ? reading->key : "case", words[0]);
    const char *field = is_timed ? read_round(reading, row, column) : csv_field(table, row, column);
    if (!field)
        give_up(r, CASE_NOT_RUN, "case not run:", count == 2 ? words[0] : row < 0 ? "" : csv_field(table, row, "case"));
    else if (!*field)
        give_up(r, BLANK_CELL, "blank:", column);
    return field;
}

/* Return the number after the flag; `sleep_ms` reads --sleep-ms. */
static double read_setting(struct reader *r)
{
    char flag[EXPRESSION_TEXT] = " --";
    size_t length = strspn(r->at, "abcdefghijklmnopqrstuvwxyz_");
    snprintf(flag + 3, sizeof flag - 3, "%.*s ", (int)length, r->at);
    r->at += length;
    for (char *c = flag; *c; c++)
        *c = *c == '_' ? '-' : *c;
    double value = table_setting(r->reading->table, flag);
    return isnan(value) ? give_up(r, MALFORMED, "the command of summary.csv has no", flag) : value;
}

static double read_sum(struct reader *r);

static double read_factor(struct reader *r)
{
    if (take(r, '-'))
        return -read_factor(r);
    if (take(r, '(')) {
        double value = read_sum(r);
        return take(r, ')') ? value : give_up(r, MALFORMED, "no ) before", *r->at ? r->at : "the end");
    }
    char *end = NULL;
    if (*r->at >= '0' && *r->at <= '9') {
        double value = strtod(r->at, &end);
        r->at = end;
        return value;
    }
    static const char setting[] = "setting.";
    if (strncmp(r->at, setting, sizeof setting - 1) == 0) {
        r->at += sizeof setting - 1;
        return read_setting(r);
    }
    const char *field = read_cell(r);
    double value = field ? strtod(field, &end) : NAN;
    bool is_number = field && end != field && *end == '\0';
    return is_number ? value : NAN; /* no relation holds for NaN */
}

static double read_product(struct reader *r)
{
    double value = read_factor(r);
    for (;;) {
        if (take(r, '*'))
            value *= read_factor(r);
        else if (take(r, '/'))
            value /= read_factor(r);
        else
            return value;
    }
}

static double read_sum(struct reader *r)
{
    double value = read_product(r);
    for (;;) {
        if (take(r, '+'))
            value += read_product(r);
        else if (take(r, '-'))
            value -= read_product(r);
        else
            return value;
    }
}

static void expect_end(struct reader *r)
{
    if (*r->at)
        give_up(r, MALFORMED, "cannot go on at", r->at);
}

/* Return the value of the expression; print it into `shown`. */
static double read_expression(struct reading *reading, const char *text, char *shown)
{
    struct reader r = { .at = text, .reading = reading };
    double value = read_sum(&r);
    expect_end(&r);
    snprintf(shown, EXPRESSION_TEXT, "%.6g", value);
    return value;
}

static bool is_same(struct reading *reading, const char *cell, const char *text, struct sides *shown)
{
    struct reader r = { .at = cell, .reading = reading };
    const char *field = read_cell(&r);
    expect_end(&r);
    snprintf(shown->quantity, EXPRESSION_TEXT, "'%s'", field ? field : "");
    snprintf(shown->value, EXPRESSION_TEXT, "'%s'", text);
    return field && strcmp(field, text) == 0;
}

double expression_value(struct reading *reading, const char *text)
{
    char shown[EXPRESSION_TEXT];
    return read_expression(reading, text, shown);
}

void expression_values(struct reading *reading, const char *quantity, const char *value, double *q, double *v)
{
    *q = expression_value(reading, quantity);
    *v = expression_value(reading, value);
}

bool expression_holds(struct reading *reading, const char *quantity, enum relation relation, const char *value,
                      double tolerance, struct sides *shown)
{
    if (relation == SAME)
        return is_same(reading, quantity, value, shown);
    double q = read_expression(reading, quantity, shown->quantity);
    double v = read_expression(reading, value, shown->value);
    double miss = fabs(q - v);
    bool holds[SAME];
    holds[EQUAL] = miss <= tolerance;
    holds[NEAR] = miss <= tolerance * fabs(v);
    holds[EXTRA] = holds[NEAR];
    holds[LESS] = q < v;
    holds[AT_MOST] = q <= v;
    holds[MORE] = q > v;
    holds[AT_LEAST] = q >= v;
    return holds[relation];
}
