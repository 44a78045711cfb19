/* verdicts: writes claims.csv, the verdicts of tools/claims. Each verdict is a word with a mark, so that it does not need colour;
 * only failed and wrong claims are red. */
#ifndef LOCKSTEP_VERDICTS_H
#define LOCKSTEP_VERDICTS_H

#include "base/csv.h"

#include <stdbool.h>
#include <stdio.h>

/* Write a cell with a verdict's mark and `details`, which begin with the verdict's word (NULL: the word alone). */
void verdicts_cell(FILE *out, const char *word, const char *details);

/* Write the number of claims of a lab (NULL: of all) by verdict, in one sentence. Return false, and write nothing, if there are
 * no claims. */
bool verdicts_sentence(FILE *out, const struct csv_table *claims, const char *lab);

/* Write the claims that fail or are wrong, collapsed; nothing if there are none. */
void verdicts_failures(FILE *out, const struct csv_table *claims, const char *lab);

/* Write the sentence, the failures and all claims of a lab. Return false, and write nothing, if there are no claims. */
bool verdicts_of_lab(FILE *out, const struct csv_table *claims, const char *lab);

#endif
