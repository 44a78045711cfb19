/* expression: numbers worked out from one table of results, and whether a relation holds between two of them.
 *
 *     sum     = product, then any number of + product, - product
 *     product = factor, then any number of * factor, / factor
 *     factor  = - factor  |  ( sum )  |  NUMBER  |  cell  |  setting.NAME
 *     cell    = COLUMN  |  CASE.COLUMN        of the row in question; of another case's row
 *
 * setting.sleep_ms is the number that stands behind --sleep-ms in the table's preamble, on the line "# command: ".
 * NUMBER begins with a digit; names are small letters, digits and _; blanks may stand before a sign.
 *
 * Everything read comes from the one table of the reading, so numbers of two tables cannot meet. */
#ifndef LOCKSTEP_EXPRESSION_H
#define LOCKSTEP_EXPRESSION_H

#include "base/csv.h"

enum { EXPRESSION_TEXT = 160 };

/* Why something has no value, the gravest last. */
enum trouble {
    NO_TROUBLE,
    BLANK_CELL,
    CASE_NOT_RUN, /* the table has no such row */
    MALFORMED,    /* no such column, no such setting, or not this grammar: whatever was run, it cannot be right */
};

/* Where to read, and what came of it; several expressions may be read in turn. */
struct reading {
    const struct csv_table *table;
    int row; /* that COLUMN stands for; -1 when its case was not run */
    /* The gravest trouble so far, and it in words. */
    enum trouble trouble;
    char why[EXPRESSION_TEXT];
};

/* Between a quantity and a value; tools/claims.c opens with what each one means. */
enum relation { EQUAL, NEAR, EXTRA, LESS, AT_MOST, MORE, AT_LEAST, SAME };

/* What both came to. */
struct sides {
    char quantity[EXPRESSION_TEXT], value[EXPRESSION_TEXT];
};

/* Whether the relation holds between two sums; of SAME, between one cell and a text. Reads all of both. False where one
 * of them is no number; of no meaning once something was malformed. */
bool expression_holds(struct reading *reading, const char *quantity, enum relation relation, const char *value,
                      double tolerance, struct sides *shown);

/* The number that stands behind `flag`, as in " --sleep-ms ", on the preamble's line "# command: "; NaN when none does. */
double table_setting(const struct csv_table *table, const char *flag);

#endif
