/* csv: tables on disk.
 *
 * Writing: one function describes a row. On a fresh `struct csv` this function writes the column names, afterwards the values,
 * so names and values cannot drift apart. A missing value (NaN) is left blank.
 * Reading: lines that begin with # are skipped; the first other line holds the names. A byte order mark is skipped. */
#ifndef LOCKSTEP_CSV_H
#define LOCKSTEP_CSV_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct csv {
    FILE *out;
    bool is_named;  /* the line of names has been written */
    bool is_inside; /* a row has begun */
};

void csv_text(struct csv *csv, const char *name, const char *text);
void csv_integer(struct csv *csv, const char *name, long value);
void csv_unsigned(struct csv *csv, const char *name, uint64_t value);
/* Write an index from 0; blank if negative. */
void csv_index(struct csv *csv, const char *name, long value);
/* Write a short decimal that reads back as `value`; blank for NaN. */
void csv_number(struct csv *csv, const char *name, double value);
/* Write a quotient of times (a ratio, a rate) with nine significant digits; blank for NaN. Further digits depend on processor
 * and libm (fused multiply-adds), and times themselves are written to the nanosecond. */
void csv_ratio(struct csv *csv, const char *name, double value);
/* Write seconds as milliseconds with six decimals (nanoseconds); blank for NaN. */
void csv_ms(struct csv *csv, const char *name, double seconds);
/* Return the seconds that csv_ms() prints: rounded to a nanosecond. */
double csv_printed(double seconds);
/* End the row. Return true after the line of names: the caller then writes the same row again. */
bool csv_end_row(struct csv *csv);

struct csv_table {
    int rows, columns;
    char **cell; /* (1 + rows, columns): names, then values */
    int *line;   /* (1 + rows): line of the file, from 1, where each row begins */
    char *text;  /* storage of the cells; comment lines stay in it unchanged */
};

/* Read a whole file. Return false, with the reason in `why` (size bytes), if the file is unreadable or a row has another number
 * of fields than the line of names. Fields in double quotes may hold commas. */
bool csv_read(const char *path, struct csv_table *table, char *why, int size);
void csv_free(struct csv_table *table);

/* Read a table that must exist and have these columns (a NULL-terminated list); otherwise end the program with STATUS_USAGE. */
struct csv_table csv_open(const char *path, const char *const *columns);
/* End the program likewise unless a table of this path has these columns. */
void csv_require(const struct csv_table *table, const char *path, const char *const *columns);
/* Read a table of this folder like csv_open(). */
struct csv_table csv_open_in(const char *folder, const char *name, const char *const *columns);
/* Read like csv_open(), but a missing file gives no rows and nothing to free. */
struct csv_table csv_open_if_there(const char *path, const char *const *columns);

/* Index of the column called `name`; -1 if there is none. */
int csv_column(const struct csv_table *table, const char *name);

/* Return the field of a column in row 0 … rows-1; NULL if there is no such column or row. */
const char *csv_field(const struct csv_table *table, int row, const char *name);
/* Return that field as a number; NaN if blank, absent or not a number. */
double csv_value(const struct csv_table *table, int row, const char *name);

/* Index of the first row whose field in column `name` equals `text`; -1 if there is no such row or column. */
int csv_find(const struct csv_table *table, const char *name, const char *text);

/* Return the value of the n-th (from 0) comment line "# key: value" above the names; NULL if there is none. Free the result. */
char *csv_comment(const struct csv_table *table, const char *key, int n);

#endif
