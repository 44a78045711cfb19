/* helper: one more pair of hands beside a rank, for work that may run next to the step. It shares the rank's
 * core: what it hides is waiting, not computing. */
#ifndef LOCKSTEP_HELPER_H
#define LOCKSTEP_HELPER_H

struct async_helper;

struct async_helper *async_helper_open(void);
void async_helper_close(struct async_helper *helper);

/* Hands over one job: work(context) runs aside. The one before must have been waited for. */
void async_helper_begin(struct async_helper *helper, void (*work)(void *context), void *context);

/* Waits until the job is done; returns at once when there is none. */
void async_helper_end(struct async_helper *helper);

#endif
