/* account: what rank 0 gives of a run. It is opened before the first block, when predictions are frozen, takes block after block,
 * and is told at the end: tables, lanes, trace, and the words for people. */
#ifndef LOCKSTEP_ACCOUNT_H
#define LOCKSTEP_ACCOUNT_H

#include "analysis/block_results.h"
#include "base/check_failures.h"
#include "base/csv.h"
#include "base/rss.h"
#include "frame/cases.h"
#include "frame/lab_spec.h"

/* What it is an account of; all this stays as long as the account. */
struct run_results_inputs {
    const struct lab_spec *spec;
    const struct option_row *const *tables;
    char *const *argv;
    const struct options *base;
    const struct run *run;
    const struct cases *cases; /* settled */
    const struct card *card;
    const char *card_key;
    const char *folder;          /* of this platform's results */
    const char *hosts;           /* hosts_text() */
    struct check_failures tried; /* what failed before anything was measured */
};

struct run_results;
struct run_results *run_results_open(const struct run_results_inputs *of);
void run_results_close(struct run_results *account); /* NULL is none */

/* Seconds that a step of a case should take, also of one whose prediction is not told. */
double run_results_expects(const struct run_results *account, int chosen);

/* The lab's own table, headed as all others. */
struct csv *run_results_table(struct run_results *account, const char *name);

/* A block of a case, whose spans are then the account's. */
void run_results_take(struct run_results *account, int chosen, int round, struct window window, struct block *block);

/* The most that any rank needed; not called where ranks have no processes of their own. */
void run_results_memory(struct run_results *account, struct rss_peaks most);

/* So far, of the largest table. */
size_t run_results_bytes(const struct run_results *account);

/* Writes all tables, which take their places together, and shows the rest; the blocks began at `began` of world_wall().
 * Returns the failed checks of all cases. */
int run_results_print(struct run_results *account, double began);

/* placement_label() of this program's ranks. */
const char *run_results_label(int ranks);

#endif
