/* compare_cases: shows two cases of a run side by side, rank by rank, from the table that the run wrote. */
#ifndef LOCKSTEP_COMPARE_CASES_H
#define LOCKSTEP_COMPARE_CASES_H

#include <stdio.h>

/* Quantities per rank and step; times in milliseconds, NaN if not measured. `caused` is the waiting of other ranks that is charged
 * to this rank. */
enum term {
    TERM_STEP,
    TERM_DATA,
    TERM_LOCAL,
    TERM_HOST,
    TERM_WAIT,
    TERM_TRANSFER,
    TERM_EXPOSED, /* wait plus transfer, if they cannot be told apart */
    TERM_CAUSED,
    TERM_SAMPLES, /* from here on counts */
    TERM_TOKENS,
    TERM_PADDED, /* tokens with padding */
    TERMS
};

struct compared_cases {
    struct ranks_of_case {
        const char *name;
        int ranks;
        double *value; /* (ranks, TERMS) */
    } usual, odd;      /* the baseline, and the case to explain */
    int decimals;      /* decimals of milliseconds */
};

/* Read folder/ranks.csv. Ends the program if the file cannot be read or lacks one of the two cases. */
void compare_cases_open(struct compared_cases *evidence, const char *folder, const char *usual, const char *odd);
void compare_cases_close(struct compared_cases *evidence);

/* Print a row per case and rank. */
void compare_cases_show(FILE *out, const struct compared_cases *evidence);

/* Print a line per term that differs from the baseline by more than a few percent, with the ranks that differ. Causes come before
 * their effects, large changes before small ones. */
void compare_cases_print_causes(FILE *out, const struct compared_cases *evidence);

#endif
