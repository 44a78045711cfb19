/* account: what rank 0 gives of a run. It is opened before the first block, when predictions are frozen, takes block after block,
 * and is told at the end: tables, lanes, trace, and the words for people. */
#ifndef LOCKSTEP_ACCOUNT_H
#define LOCKSTEP_ACCOUNT_H

#include "cases.h"
#include "csv.h"
#include "faults.h"
#include "footprint.h"
#include "gather.h"
#include "story.h"

/* What it is an account of; all this stays as long as the account. */
struct account_of {
    const struct story *story;
    const struct option_row *const *tables;
    char *const *argv;
    const struct options *base;
    const struct run *run;
    const struct cases *cases; /* settled */
    const struct card *card;
    const char *card_key;
    const char *folder;  /* of this platform's results */
    const char *hosts;   /* hosts_told() */
    struct faults tried; /* what failed before anything was measured */
};

struct account;
struct account *account_open(const struct account_of *of);
void account_close(struct account *account); /* NULL is none */

/* Seconds that a step of a case should take, also of one whose prediction is not told. */
double account_expects(const struct account *account, int chosen);

/* The lab's own table, headed as all others. */
struct csv *account_table(struct account *account, const char *name);

/* A block of a case, whose spans are then the account's. */
void account_take(struct account *account, int chosen, int round, struct window window, struct block *block);

/* The most that any rank needed; not called where ranks have no processes of their own. */
void account_memory(struct account *account, struct phases most);

/* So far, of the largest table. */
size_t account_bytes(const struct account *account);

/* Writes all tables, which take their places together, and shows the rest; the blocks began at `began` of world_wall().
 * Returns the failed checks of all cases. */
int account_tell(struct account *account, double began);

/* mode_label() of this program's ranks. */
const char *account_label(int ranks);

#endif
