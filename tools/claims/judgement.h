/* judgement: what a lab's claims came to, place by place, for the terminal and for tables. */
#ifndef LOCKSTEP_JUDGEMENT_H
#define LOCKSTEP_JUDGEMENT_H

#include "base/csv.h"
#include "expression.h"

#include <stdbool.h>

enum memory_estimate { NEEDS_ANY, NEEDS_CORES, NEEDS_SIM, NEEDS_GPU, NEEDS_ARRIVALS, NEEDS_PUBLISHED };
enum kind { EXACT, FORMULA, SIM, RATIO, SHAPE, EXAMPLE };
extern const char *const relation_words[];
extern const char *const kind_words[];

struct claim {
    const char *id, *quantity, *value, *why;
    enum memory_estimate memory;
    enum relation relation;
    enum kind kind;
    double tolerance;
};

enum rank_result { HOLDS, FAILS, UNTESTABLE, VERDICTS };

struct judgement { /* of one claim about one case */
    struct claim claim;
    int row; /* of the case in summary.csv; -1 when it was not run */
    enum rank_result verdict;
    struct sides shown;
    char reason[EXPRESSION_TEXT]; /* why one side came to nothing, or cannot be tested */
};

/* Where numbers come from, in the order of the columns. From JUDGED on they are judged; the first of these leads. */
enum { PUBLISHED, BLOG, DEDICATED, HERE, PLACES, JUDGED = DEDICATED };

/* In a sentence, for a place that is judged: "simulated", "here". */
extern const char *const place_words[PLACES];

/* Why a row cannot be tested that its mark explains already. */
extern const char judgement_crowded[];

struct place {
    bool is_there; /* else all is zero */
    struct csv_table summary;
    struct judgement *judgements;
    int count;
};

struct lab {
    char *name, *path; /* path: of its claims */
    struct csv_table claims;
    struct place places[PLACES];
};

/* A row of the closing table: a case of one size, as published and as each place has it. */
struct closing {
    char *name;        /* of the case, with its size where the leading place has the case in another one */
    double ms[PLACES]; /* step of the slowest rank; NaN where there is none */
    bool is_shared;    /* measured here by ranks that shared cores */
    char *verdict;     /* what fails, else what could not be tested, else whether the prediction was met */
};

/* Each case that was run in a place that is judged; the first place that has it, in that size, leads its row. Returns how
 * many; release with closing_close(). */
int closing_open(struct closing **rows, const struct lab *lab);
void closing_close(struct closing *rows, int count);

/* The closing table on the terminal; and below it each claim that fails, and what was published. */
void judgement_show_table(const struct lab *lab);
void judgement_show_claims(const struct lab *lab);

/* One more lab in both tables: closing.csv, a row per case; claims.csv, a row per claim, case and place. */
void judgement_write(struct csv *closing, struct csv *claims, const struct lab *lab);

#endif
