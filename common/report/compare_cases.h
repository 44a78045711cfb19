/* evidence: two cases of a run side by side, rank by rank, from the table that the run left. */
#ifndef LOCKSTEP_EVIDENCE_H
#define LOCKSTEP_EVIDENCE_H

#include <stdio.h>

/* What is told of a rank and step, times in milliseconds; NaN where it was not measured. `caused` is the waiting of others
 * that is charged to it. */
enum term {
    TERM_STEP,
    TERM_DATA,
    TERM_LOCAL,
    TERM_HOST,
    TERM_WAIT,
    TERM_TRANSFER,
    TERM_EXPOSED, /* wait and transfer, where they cannot be told apart */
    TERM_CAUSED,
    TERM_SAMPLES, /* this and the rest are counts */
    TERM_TOKENS,
    TERM_PADDED, /* tokens with padding */
    TERMS
};

struct compared_cases {
    struct ranks_of_case {
        const char *name;
        int ranks;
        double *value; /* (ranks, TERMS) */
    } usual, odd;      /* the baseline, and what is to be explained */
    int decimals;      /* that milliseconds are shown with */
};

/* Reads folder/ranks.csv; ends the program when it cannot be read or lacks one of the two cases. */
void compare_cases_open(struct compared_cases *evidence, const char *folder, const char *usual, const char *odd);
void compare_cases_close(struct compared_cases *evidence);

/* A row per case and rank. */
void compare_cases_show(FILE *out, const struct compared_cases *evidence);

/* A line per term that differs from the baseline's by more than a few percent, causes before what comes of them and large
 * changes before small, with the ranks on which it does. */
void compare_cases_tell(FILE *out, const struct compared_cases *evidence);

#endif
