/* rounds: a lab's rounds.csv, by which claims about time are judged.
 *
 * A row is a case in a round of a launch. Several launches of a lab may share the file. Rows of the same launch and round were
 * measured side by side, so only they are compared. */
#ifndef LOCKSTEP_ROUNDS_H
#define LOCKSTEP_ROUNDS_H

#include "base/csv.h"

struct rounds {
    struct csv_table table;
    int count;   /* rounds of all launches */
    int *of_row; /* (table.rows): index of the row's round, 0 … count-1 */
    int launches;
};

/* Read PATH. End the program if it is missing, or of a version that does not mark disturbed rounds; `lab` is the program to run
 * again. */
struct rounds rounds_open(const char *path, const char *lab);
void rounds_close(struct rounds *rounds);

/* Return the row of a case in round `index` (0 … count-1); -1 if it was not measured there. */
int rounds_row(const struct rounds *rounds, int index, const char *name);

/* Return the mean of a column over a case's undisturbed rounds; if there are none, over all; NaN if not measured. */
double rounds_mean(const struct rounds *rounds, const char *name, const char *column);

/* Return the rank that the others waited for in a case, by its undisturbed rounds in all launches and the rule of analysis/culprits.h; -1
 * if none stands out. `usual`: case without a fault. */
int rounds_blamed(const struct rounds *rounds, const char *name, const char *usual, int ranks);

/* Return by what factor the machine's speed changed during the launches: the largest local_drift over the smallest, of each round the
 * mean over its undisturbed cases, relative to its launch, in the middle three quarters of all rounds. 1 if unknown. Launches have cards
 * of their own, of which drift is relative: in a run of half an hour one card was a third slower than the others, and its rounds were
 * that much faster than it. And the extremes of all rounds grow with their number. */
double rounds_drift(const struct rounds *rounds);

#endif
