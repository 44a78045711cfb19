/* adamw: the AdamW optimizer, with its two moments and its step count. */
#ifndef LOCKSTEP_ADAMW_H
#define LOCKSTEP_ADAMW_H

#include "options/work.h"

#include <stddef.h>

struct adamw;

/* Open an optimizer for `count` parameters. Betas 0.9 and 0.999, epsilon 1e-8, weight decay 0.01: torch.optim.AdamW's
 * defaults. */
struct adamw *adamw_open(enum work_model model, size_t count, double learning_rate);

/* Open an optimizer for `count` of a model's `all` parameters, held by this rank. */
struct adamw *adamw_open_shard(enum work_model model, size_t count, size_t all, double learning_rate);

/* Likewise, with the moments in a file of `folder` (moments_file.h): memory has those of a part, of at most `most` parameters. Steps are
 * applied part by part: adamw_update() is not for it. */
struct adamw *adamw_open_offloaded(enum work_model model, size_t count, size_t all, double learning_rate,
                                   const char *folder, size_t most);
void adamw_close(struct adamw *optimizer);

/* Return to step 0. */
void adamw_restart(struct adamw *optimizer);

double adamw_rate(const struct adamw *optimizer);

/* Return a parameter after the first step, in closed form and double precision: p - rate (g / (|g| + epsilon) + decay p).
 * In the first step the corrections of the moments cancel their decay. */
double adamw_first_step(const struct adamw *optimizer, double p, double g);

/* Apply one step to parameters (count), with gradients (count). */
void adamw_update(struct adamw *optimizer, float *parameters, const float *gradients);

/* Apply a step part by part: begin it, then update each part once, the parameters (count) whose moments begin at `first`. */
void adamw_begin(struct adamw *optimizer);
void adamw_update_part(struct adamw *optimizer, size_t first, size_t count, float *parameters, const float *gradients);

/* Free the moments. No other step may follow. */
void adamw_end(struct adamw *optimizer);

#endif
