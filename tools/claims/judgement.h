/* judgement: verdicts on a lab's claims, place by place, for the terminal and for tables. */
#ifndef LOCKSTEP_JUDGEMENT_H
#define LOCKSTEP_JUDGEMENT_H

#include "base/csv.h"
#include "expression.h"

#include <stdbool.h>

enum needs { NEEDS_ANY, NEEDS_CORES, NEEDS_SIM, NEEDS_GPU, NEEDS_ARRIVALS, NEEDS_PUBLISHED };
enum kind { EXACT, FORMULA, SIM, RATIO, SHAPE, EXAMPLE };
extern const char *const relation_words[];
extern const char *const kind_words[];

struct claim {
    const char *id, *quantity, *value, *why;
    enum needs needs; /* column `needs` */
    enum relation relation;
    enum kind kind;
    double tolerance;
};

enum verdict { HOLDS, FAILS, UNTESTABLE, VERDICTS };

struct judgement { /* one claim about one case */
    struct claim claim;
    int row; /* row of the case in summary.csv; -1 if not run */
    enum verdict verdict;
    struct sides shown;
    char reason[EXPRESSION_TEXT]; /* why a side has no value, or the claim cannot be tested */
};

/* Sources of numbers, in the order of the columns. Places from JUDGED on are judged; the first of them leads. */
enum { PUBLISHED, BLOG, DEDICATED, HERE, PLACES, JUDGED = DEDICATED };

/* Name of a judged place within a sentence: "simulated", "here". */
extern const char *const place_words[PLACES];

/* Reason "more ranks than cores", which the asterisk of the row also gives. */
extern const char judgement_crowded[];

struct place {
    bool is_there; /* if false, all else is zero */
    struct csv_table summary;
    struct judgement *judgements;
    int count;
};

struct lab {
    char *name, *path; /* path: file of its claims */
    struct csv_table claims;
    struct place places[PLACES];
};

/* Row of the closing table: a case at one size, published and at each place. */
struct closing {
    char *name;        /* case; with its size if the first judged place ran another size */
    double ms[PLACES]; /* step of the slowest rank; NaN if absent */
    bool is_shared;    /* measured here, oversubscribed */
    char *verdict;     /* failing claims, else why one is untestable, else if the prediction was met */
};

/* Set `rows` to a row per case and size that was run at a judged place; the first such place leads the row. Return their
 * number. Release with closing_close(). */
int closing_open(struct closing **rows, const struct lab *lab);
void closing_close(struct closing *rows, int count);

/* Print the closing table; then the claims that fail and the published examples. */
void judgement_show_table(const struct lab *lab);
void judgement_show_claims(const struct lab *lab);

/* Add a lab to both tables: closing.csv (a row per case), claims.csv (a row per claim, case and place). */
void judgement_write(struct csv *closing, struct csv *claims, const struct lab *lab);

#endif
