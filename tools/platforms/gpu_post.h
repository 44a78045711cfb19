/* gpu_post: the post "Profiling a PyTorch Training Job End to End" as queues of loader workers (card/worker_queue.h), whose parameters
 * come from some of its numbers. The others follow from these.
 *
 *     parameter                                   from
 *     step    of the MLP, its batch there         median of data_workers4
 *     asleep  a worker's time for a batch of the  mean of data_workers0, less step
 *             slow loader
 *     start   of one worker                       first steps of data_workers8 and data_workers4, a quarter of the difference
 *     first   what else is in the first step      first step of data_workers4
 *     eager   a step of 546 launches              mean of torch_eager
 *     plain   a worker's time for a batch of B    means of baseline (B = 256) and torch_batch1024, on a line: fixed + B x sample
 *             samples of the plain loader
 *
 * The last line rests on an assumption that the post does not make: those two steps wait for their two workers. Two facts support it:
 * data_workers4 steps in `step` with the baseline's model and batch when its batch is there, in 62 % of the baseline's step; and
 * the line predicts kernel_fp32 and kernel_bf16, of half the larger batch, although these train another model. The post shows no
 * single steps of these four, so it stays an assumption. */
#ifndef LOCKSTEP_GPU_POST_H
#define LOCKSTEP_GPU_POST_H

#include "base/csv.h"
#include "card/worker_queue.h"

#include <stdbool.h>

enum { GPU_POST_SKIPPED = 2, GPU_POST_STEPS_MOST = 64 }; /* the first steps do not count in the post's means */

struct gpu_post {
    struct csv_table cases, series;                                          /* expected/blog_triage*.csv */
    double step, asleep, start, first, eager, plain_fixed, plain_per_sample; /* seconds */
};

/* Read the tables of this folder and set the parameters. Bad input ends the program with one line. */
struct gpu_post gpu_post_open(const char *expected);
void gpu_post_close(struct gpu_post *post);

/* Return a number of a case in the post's unit; ends the program if it is missing. */
double gpu_post_value(const struct gpu_post *post, const char *slug, const char *column);

/* Return a single step in ms; NaN if the post does not print it. */
double gpu_post_step(const struct gpu_post *post, const char *slug, int step);

/* Return the queue of a case. The kernel cases' own step is not known; `step` stands for it, which their waiting hides. */
struct worker_queue gpu_post_queue(const struct gpu_post *post, const char *slug);

/* True if the mean step of this case sets a parameter. */
bool gpu_post_is_fitted(const char *slug);

#endif
