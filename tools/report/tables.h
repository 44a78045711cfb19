/* tables: writes CSV files as tables of a page. */
#ifndef LOCKSTEP_TABLES_H
#define LOCKSTEP_TABLES_H

#include "findings.h"

#include <stdio.h>

/* Write the results of a run: a row per case, times in ms. */
void tables_cases(FILE *out, const struct finding *finding);

/* Write the memory of a rank by owner in the baseline, predicted and held; nothing if the run has no memory.csv. */
void tables_memory(FILE *out, const struct finding *finding);

/* Write any other table of a run unchanged: sweep, strategies, ranks … Return false, and write nothing, if missing or from an
 * earlier run. End the program if unreadable. */
bool tables_other(FILE *out, const struct finding *finding, const char *stem);

/* Write closing.csv: the published numbers beside this machine's. `lab` NULL: all labs; `published_only`: published cases only.
 * Return false if there is no row. */
bool tables_closing(FILE *out, const struct csv_table *closing, const char *lab, bool published_only);

/* Write guesses.csv and blind.csv: the user's answers. */
void tables_guesses(FILE *out, const struct csv_table *guesses);
void tables_blind(FILE *out, const struct csv_table *games);

#endif
