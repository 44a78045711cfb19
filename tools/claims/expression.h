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
 * An expression reads one run only, so numbers of two runs cannot be mixed. With a round given, a cell is read from the row of its
 * case in that round, if rounds.csv has the column; else from summary.csv. */
#ifndef LOCKSTEP_EXPRESSION_H
#define LOCKSTEP_EXPRESSION_H

#include "base/csv.h"
#include "rounds.h"

enum { EXPRESSION_TEXT = 160 };

/* Reasons why an expression has no value, worst last. */
enum trouble {
    NO_TROUBLE,
    BLANK_CELL,
    CASE_NOT_RUN, /* the table has no such row */
    MALFORMED,    /* unknown column or setting, or a syntax error: wrong for any run */
};

/* Tables to read from, and the worst trouble so far. Several expressions may share a reading. */
struct reading {
    const struct csv_table *table; /* summary.csv */
    int row;                       /* row of a plain COLUMN; -1 if its case was not run */
    const struct rounds *rounds;   /* NULL: read summary.csv only */
    const char *key;               /* column in which CASE is looked up; NULL: "case" */
    int round;                     /* index in `rounds` */
    /* The worst trouble so far, as code and as text. */
    enum trouble trouble;
    char why[EXPRESSION_TEXT];
    /* Cells that were read from rounds.csv. */
    int timed;          /* number */
    double largest;     /* absolute value */
    bool is_disturbed;  /* any row */
    double taken_share; /* largest of the disturbed rows' */
};

/* Relation of quantity to value; tools/claims/claims.c defines each. */
enum relation { EQUAL, NEAR, EXTRA, LESS, AT_MOST, MORE, AT_LEAST, SAME };

/* Both values as text. */
struct sides {
    char quantity[EXPRESSION_TEXT], value[EXPRESSION_TEXT];
};

/* Set q and v to the sums `quantity` and `value`; NaN if not a number. Meaningless after MALFORMED. */
void expression_values(struct reading *reading, const char *quantity, const char *value, double *q, double *v);

/* Return the value of a sum; NaN if not a number. Meaningless after MALFORMED. */
double expression_value(struct reading *reading, const char *text);

/* True if the relation holds between two sums (SAME: between a cell and a text; EXTRA: like NEAR). Always parses both. False if
 * either is not a number. Meaningless after MALFORMED. */
bool expression_holds(struct reading *reading, const char *quantity, enum relation relation, const char *value,
                      double tolerance, struct sides *shown);

/* Return the number after `flag` (such as " --sleep-ms ") on the preamble's line "# command: "; NaN if absent. */
double table_setting(const struct csv_table *table, const char *flag);

#endif
