/* run_results: collects a run on rank 0 and writes its results. Opening it, before the first block, freezes the predictions. Each
 * block is added. The end writes tables, lanes and trace, and prints the summary. */
#ifndef LOCKSTEP_RUN_RESULTS_H
#define LOCKSTEP_RUN_RESULTS_H

#include "analysis/block_results.h"
#include "analysis/case_stats.h"
#include "base/check_failures.h"
#include "base/csv.h"
#include "base/rss.h"
#include "frame/cases.h"
#include "frame/drift_series.h"
#include "frame/lab_spec.h"

/* Inputs of the results. All pointers must stay valid as long as the results. */
struct run_results_inputs {
    const struct lab_spec *spec;
    const struct option_row *const *tables;
    char *const *argv;
    const struct options *base;
    const struct run *run;
    const struct cases *cases; /* with their settings */
    const struct card *card;
    const char *card_key;
    const char *folder;            /* folder of this platform's results */
    const char *hosts;             /* hosts_text() */
    struct memory_estimate memory; /* predicted, of a rank, without what a case opens */
    struct check_failures tried;   /* checks that failed before the first block */
};

struct run_results;
struct timed_pass;
struct run_results *run_results_open(const struct run_results_inputs *of);
void run_results_close(struct run_results *results); /* `account` may be NULL */

/* Predicted seconds per step of a case; also of the hidden case, whose prediction the report leaves out. */
double run_results_expects(const struct run_results *results, int chosen);

/* True if the folder has this table of the lab's own from an earlier run, to which this one adds rounds. */
bool run_results_has_table(const struct run_results *results, const char *name);

/* Begin one of the lab's own tables, with the header lines of all tables. */
struct csv *run_results_table(struct run_results *results, const char *name);

/* Add a block of a case, whose spans the results then own. Without `conditions` (NULL) add only its failed checks: the block is
 * repeated. */
void run_results_take(struct run_results *results, int chosen, int round, const struct block *block,
                      const struct conditions *conditions);

/* Write operations.json. */
void run_results_trace_operations(const struct run_results *results, const struct timed_pass *passes, int count);

/* Add the drift that a probe found at `at` of world_wall(). */
void run_results_drift(struct run_results *results, double at, struct card_drift drift);

/* Add failed checks that belong to no block. They make every case wrong. */
void run_results_add_wrong(struct run_results *results, const struct check_failures *wrong);

/* Set the largest resident memory of any rank. Not called if simulated ranks share one process. */
void run_results_memory(struct run_results *results, struct rss_peaks most);

/* Bytes of the largest table so far. */
size_t run_results_bytes(const struct run_results *results);

/* Write all tables, put them in place together, and print the summary. The first block began at `began` of world_wall(). Returns
 * the failed checks of all cases. In a job that its supervisor ends it stands still instead of putting tables in place. */
int run_results_print(struct run_results *results, struct world *world, double began);

/* Return the placement_label() of this program's ranks. */
const char *run_results_label(int ranks);

#endif
