/* helper: one more pair of hands beside a rank, for work that may run next to the step. It shares the rank's
 * core: what it hides is waiting, not computing. */
#ifndef LOCKSTEP_HELPER_H
#define LOCKSTEP_HELPER_H

struct helper;

struct helper *helper_open(void);
void helper_close(struct helper *helper);

/* Hands over one job: work(context) runs aside. The one before must have been waited for. */
void helper_begin(struct helper *helper, void (*work)(void *context), void *context);

/* Waits until the job is done; returns at once when there is none. */
void helper_end(struct helper *helper);

#endif
