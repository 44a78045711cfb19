/* csv: tables on disk.
 *
 * Writing: one function describes a row; called on a fresh `struct csv` it writes the names, from then on the
 * values, so that names and values cannot drift apart. A value that does not exist (NaN) is left blank.
 * Reading: lines that begin with # are skipped, the first other line holds the names. A byte order mark is passed over. */
#ifndef LOCKSTEP_CSV_H
#define LOCKSTEP_CSV_H

#include <stdbool.h>
#include <stdio.h>

struct csv {
    FILE *out;
    bool is_named;  /* the line of names is written */
    bool is_inside; /* a row has begun */
};

void csv_text(struct csv *csv, const char *name, const char *text);
void csv_integer(struct csv *csv, const char *name, long value);
/* A number that counts from 0; blank when it is negative. */
void csv_index(struct csv *csv, const char *name, long value);
/* A short decimal that reads back as `value`; blank for NaN. */
void csv_number(struct csv *csv, const char *name, double value);
/* A quotient of times, such as a ratio or a rate, with nine significant digits; blank for NaN. Processors and libm round
 * what lies beyond them in different ways (fused multiply-adds), and times themselves are written to the nanosecond. */
void csv_ratio(struct csv *csv, const char *name, double value);
/* Seconds as milliseconds with six decimals (nanoseconds); blank for NaN. */
void csv_ms(struct csv *csv, const char *name, double seconds);
/* Ends the row. Returns true when it was the line of names: the caller then writes the same row again. */
bool csv_end_row(struct csv *csv);

struct csv_table {
    int rows, columns;
    char **cell; /* (1 + rows, columns): names, then values */
    int *line;   /* (1 + rows) of the file, from 1: where each begins */
    char *text;  /* owns what the cells point to; comments stand in it as they were */
};

/* Reads a whole file. Returns false and says why in `why` (size bytes) when it cannot be read or a row has another
 * number of fields than the names. Fields in double quotes may hold commas. */
bool csv_read(const char *path, struct csv_table *table, char *why, int size);
void csv_free(struct csv_table *table);

/* The same for a table that must be there and name these columns (NULL ends them); else ends the program with
 * STATUS_USAGE. */
struct csv_table csv_open(const char *path, const char *const *columns);
/* The same for one that may be missing: no rows then, and nothing to free. */
struct csv_table csv_open_if_there(const char *path, const char *const *columns);

/* The column of that name; -1 when there is none. */
int csv_column(const struct csv_table *table, const char *name);

/* The field of a column in row 0 … rows-1; NULL when there is no such column or row. */
const char *csv_field(const struct csv_table *table, int row, const char *name);
/* The same as a number; NaN when blank, absent or not a number. */
double csv_value(const struct csv_table *table, int row, const char *name);

/* The first row whose field in a column is `text`; -1 when there is none, or no such column. */
int csv_find(const struct csv_table *table, const char *name, const char *text);

/* What stands on the n-th line (from 0) "# key: value" of the comments above the names; NULL when there is none. Free it. */
char *csv_comment(const struct csv_table *table, const char *key, int n);

#endif
