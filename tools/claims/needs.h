/* needs: on which rows of summary.csv a claim can be tested. tools/claims/claims.c explains the column. */
#ifndef LOCKSTEP_NEEDS_H
#define LOCKSTEP_NEEDS_H

#include "judgement.h"

/* Return why the claim cannot be tested on this row; NULL if it can. */
const char *needs_unmet(const struct lab *lab, const struct csv_table *summary, int row, const struct claim *claim);

/* True for a modelled machine, which computes nothing: checks of sums and losses are blank. */
bool needs_is_modelled(const struct csv_table *summary, int row);

#endif
