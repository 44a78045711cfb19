/* tables: the rows of CSV files as tables of a page. */
#ifndef LOCKSTEP_TABLES_H
#define LOCKSTEP_TABLES_H

#include "findings.h"

#include <stdio.h>

/* What a run found: a row per case, times in ms. */
void tables_cases(FILE *out, const struct finding *finding);

/* Any other table of a run, as it is: sweep, strategies, ranks … False, and nothing written, where there is none, or one of
 * an earlier run; ends the program where it cannot be read. */
bool tables_other(FILE *out, const struct finding *finding, const char *stem);

/* closing.csv: the published numbers beside this machine's. Of one lab, or of all where `lab` is NULL; of the published
 * cases only, or of all. False where there is no row. */
bool tables_closing(FILE *out, const struct csv_table *closing, const char *lab, bool published_only);

/* claims.csv: what must hold of one lab, and whether it does; of all labs (NULL) how much does, and what fails. */
bool tables_claims(FILE *out, const struct csv_table *claims, const char *lab);

/* guesses.csv and blind.csv: what the reader thought. */
void tables_guesses(FILE *out, const struct csv_table *guesses);
void tables_blind(FILE *out, const struct csv_table *games);

#endif
