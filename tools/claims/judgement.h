/* judgement: the claims of a lab and what each place says about them. */
#ifndef LOCKSTEP_JUDGEMENT_H
#define LOCKSTEP_JUDGEMENT_H

#include "base/csv.h"
#include "claim.h"
#include "rounds.h"
#include "verdict.h"

#include <stdbool.h>

/* Bytes of each text of a judgement. */
enum { JUDGEMENT_TEXT = EXPRESSION_TEXT };

/* Values of `row` that are no row of summary.csv. */
enum { ROW_NOT_RUN = -1, ROW_ALL = -2 };

struct judgement { /* one claim about one case, or about all together */
    struct claim claim;
    int row; /* row of the case in summary.csv, ROW_NOT_RUN or ROW_ALL */
    enum verdict verdict;
    struct sides shown;          /* by rounds: means */
    char reason[JUDGEMENT_TEXT]; /* why a side has no value, or the claim cannot be tested or told */
    /* Evidence of claims that are judged round by round; else evidence.rounds is 0. */
    struct evidence evidence; /* from undisturbed rounds */
    struct distance distance;
    int more_rounds;        /* too noisy or disturbed: further rounds that may decide; else 0 */
    int rounds_to_notice;   /* about all cases, as predicted or too noisy: verdict_rounds_to_notice(); else -1 */
    double disturbed_share; /* of all rounds */
    double taken_share;     /* mean over disturbed rounds */
    double drift;           /* by what factor the machine's speed changed, if this made the claim disturbed; else 0 */
};

/* Sources of numbers, in the order of the columns. Places from JUDGED on are judged; the first of them leads. */
enum { PUBLISHED, BLOG, DEDICATED, HERE, PLACES, JUDGED = DEDICATED };

/* A source for all labs. */
struct source {
    const char *folder;     /* of the labs, below --results; NULL: not read */
    const char *word;       /* name within a sentence: "simulated", "here" */
    const char *heading[2]; /* of its column, in two lines */
    int width;
    const char *legend; /* below the table; NULL: none */
};

/* Reason "more ranks than cores", which the asterisk of the row also gives. */
extern const char judgement_crowded[];

struct place {
    bool is_there; /* if false, all else is zero */
    struct csv_table summary;
    struct rounds rounds; /* of judged places */
    struct judgement *judgements;
    int count;
};

struct lab {
    char *name;
    const struct source *sources;         /* (PLACES) */
    struct claim_file claims;             /* its own */
    const struct claim_file *every_claim; /* those of every lab; its own may replace some; NULL: none */
    struct place places[PLACES];
};

/* Return "predicted_skew off +22 % ± 5" in new memory; the name alone for a claim not judged by rounds. */
char *judgement_distance(const struct judgement *j);

/* Return the name of the case, or of all. */
const char *judgement_case(const struct place *place, const struct judgement *j);

/* Return the worst verdict on the claims about a row of summary.csv, or about all (ROW_ALL); VERDICTS if there is none. Set `phrase`, in
 * new memory, to the verdict in a few words. */
enum verdict judgement_row(const struct place *place, int row, char **phrase);

/* Return the worse of two verdicts; VERDICTS is none. */
enum verdict judgement_worst(enum verdict a, enum verdict b);

/* Row of the closing table: a case at one size, published and at each place; at the end all cases together, without a time. */
struct closing {
    char *name;           /* case; with its size if the first judged place ran another size */
    double ms[PLACES];    /* step of the slowest rank; NaN if absent */
    bool is_shared;       /* measured here, oversubscribed */
    enum verdict verdict; /* worst at all places */
    char *details;        /* the verdict in a few words, by place if places differ */
};

/* Set `rows` to a row per case and size that was run at a judged place, and one for the claims about all cases; the first such place
 * leads the row. Return their number. Release with closing_close(). */
int closing_open(struct closing **rows, const struct lab *lab);
void closing_close(struct closing *rows, int count);

/* Print the closing table; then the claims that fail or are wrong, and the published examples. */
void judgement_show_table(const struct lab *lab);
void judgement_show_claims(const struct lab *lab);

/* Add a lab to both tables: closing.csv (a row per case), claims.csv (a row per claim, case and place). */
void judgement_write(struct csv *closing, struct csv *claims, const struct lab *lab);

#endif
