/* async_helper: runs work beside a rank's step, in a second thread or simulated process. The helper shares the rank's core, so
 * it hides waiting but not computing; one that is opened as `on_any_core` may use any core of the job. */
#ifndef LOCKSTEP_ASYNC_HELPER_H
#define LOCKSTEP_ASYNC_HELPER_H

#include <stdbool.h>

struct async_helper;

struct async_helper *async_helper_open(void);

/* Open a helper that may use any core that the starting process may use, as a process of its own would. A simulated one runs on its
 * rank's host, which may have several cores. spare_cores: cores that no rank has. While fewer helpers of this process work, a helper leaves
 * the core of a rank that computes. */
struct async_helper *async_helper_open_on_any_core(int spare_cores);

void async_helper_close(struct async_helper *helper);

/* Start work(context) in the helper. Jobs run one after another; at most ASYNC_HELPER_JOBS may be begun and not waited for. */
enum { ASYNC_HELPER_JOBS = 16 };
void async_helper_begin(struct async_helper *helper, void (*work)(void *context), void *context);

/* True if the oldest job for which the caller has not waited is not done. */
bool async_helper_lacks_one(struct async_helper *helper);

/* Wait until the oldest job is done for which the caller has not waited. Return at once if there is none. */
void async_helper_end_one(struct async_helper *helper);

/* Wait until all jobs are done. */
void async_helper_end(struct async_helper *helper);

#endif
