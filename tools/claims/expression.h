/* expression: arithmetic on one table of results, and relations between two values.
 *
 *     sum     = product, then any number of + product, - product
 *     product = factor, then any number of * factor, / factor
 *     factor  = - factor  |  ( sum )  |  NUMBER  |  cell  |  setting.NAME
 *     cell    = COLUMN  |  CASE.COLUMN        in the current row; in another case's row
 *
 * setting.sleep_ms is the number after --sleep-ms in the table's preamble, on the line "# command: ".
 * NUMBER begins with a digit. Names consist of lowercase letters, digits and _. Blanks may precede a sign.
 *
 * An expression reads one table only, so numbers of two tables cannot be mixed. */
#ifndef LOCKSTEP_EXPRESSION_H
#define LOCKSTEP_EXPRESSION_H

#include "base/csv.h"

enum { EXPRESSION_TEXT = 160 };

/* Why an expression has no value, worst last. */
enum trouble {
    NO_TROUBLE,
    BLANK_CELL,
    CASE_NOT_RUN, /* the table has no such row */
    MALFORMED,    /* unknown column or setting, or a syntax error: wrong for any run */
};

/* Where to read, and the errors found. Several expressions may share a reading. */
struct reading {
    const struct csv_table *table;
    int row; /* row of a plain COLUMN; -1 if its case was not run */
    /* The worst trouble so far, as code and as text. */
    enum trouble trouble;
    char why[EXPRESSION_TEXT];
};

/* Relation of quantity to value; tools/claims/claims.c defines each. */
enum relation { EQUAL, NEAR, EXTRA, LESS, AT_MOST, MORE, AT_LEAST, SAME };

/* Both values as text. */
struct sides {
    char quantity[EXPRESSION_TEXT], value[EXPRESSION_TEXT];
};

/* True if the relation holds between two sums (SAME: between a cell and a text). Always parses both. False if either is
 * not a number. Meaningless after MALFORMED. */
bool expression_holds(struct reading *reading, const char *quantity, enum relation relation, const char *value,
                      double tolerance, struct sides *shown);

/* Return the number after `flag` (such as " --sleep-ms ") on the preamble's line "# command: "; NaN if absent. */
double table_setting(const struct csv_table *table, const char *flag);

#endif
