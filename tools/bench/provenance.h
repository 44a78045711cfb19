/* provenance: run, date and commit, which the benchmark writes into each row. Rows with the same run id were measured by one
 * command, so that none was selected from another run. */
#ifndef LOCKSTEP_BENCH_PROVENANCE_H
#define LOCKSTEP_BENCH_PROVENANCE_H

#include "base/csv.h"

struct provenance {
    char run[64];  /* --run, or else date, time and a random number */
    char date[32]; /* start of the run, local time */
    const char
        *commit; /* of the sources that this program was built from; "…-dirty" if changed, "unknown" outside of git */
};

/* Return the provenance of a run that begins now. `run` is its id; NULL: make one. */
struct provenance provenance_new(const char *run);

/* Write the head lines of a table. */
void provenance_head(const struct provenance *provenance, FILE *out);

/* Write the columns run, date and commit. */
void provenance_columns(const struct provenance *provenance, struct csv *csv);

#endif
