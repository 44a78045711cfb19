/* answer: blame's findings in a case: the late rank, its phase, the gain of each fix, and what to try. */
#ifndef LOCKSTEP_ANSWER_H
#define LOCKSTEP_ANSWER_H

#include "fixes.h"
#include "hint.h"

struct answer {
    const struct spans_file *file;
    const struct report *report;
    const struct outcome *shown; /* the case */
    struct hosts hosts;
    struct culprit culprit;
    struct fixes fixes;
    struct hint hint;
};

/* Explain the case `shown` of a report, whose spans are in the file. */
struct answer answer_find(const struct spans_file *file, const struct report *report, const struct outcome *shown);
void answer_close(struct answer *answer);

/* Return "Of every 100 rank-seconds of job, 25 waited for rank 1: it is late in its data.", or why no rank is named. Free it. */
char *answer_sentence(const struct answer *answer);

struct comparison; /* with a later recording; without a path: none */

/* Print all that a lab prints about its own run, and the fixes. `why_withdrawn`: why no rank is named; or NULL. (answer_print.c) */
void answer_print(const struct answer *answer, const char *why_withdrawn, const struct comparison *comparison);

/* Lines printed on standard error. */
struct warnings {
    char **at; /* (count) */
    int count;
};

/* Print one JSON object, which notebooks-md/your_own_job.md documents. (answer_json.c) */
void answer_print_json(FILE *out, const struct answer *answer, const struct comparison *comparison,
                       const struct warnings *warnings);

#endif
