/* async_helper: runs work beside a rank's step, in a second thread or simulated process. The helper shares the rank's core, so
 * it hides waiting but not computing. */
#ifndef LOCKSTEP_ASYNC_HELPER_H
#define LOCKSTEP_ASYNC_HELPER_H

struct async_helper;

struct async_helper *async_helper_open(void);
void async_helper_close(struct async_helper *helper);

/* Start work(context) in the helper. The caller must have waited for the previous job. */
void async_helper_begin(struct async_helper *helper, void (*work)(void *context), void *context);

/* Wait until the job is done. Return at once if there is none. */
void async_helper_end(struct async_helper *helper);

#endif
