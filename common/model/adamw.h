/* adamw: AdamW's two moments and its count of steps. */
#ifndef LOCKSTEP_ADAMW_H
#define LOCKSTEP_ADAMW_H

#include "options/work.h"

#include <stddef.h>

struct adamw;

/* For `count` parameters of a model; betas 0.9 and 0.999, epsilon 1e-8, weight decay 0.01: torch.optim.AdamW's defaults. */
struct adamw *adamw_open(enum work_model model, size_t count, double learning_rate);
void adamw_close(struct adamw *optimizer);

/* Back to step 0. */
void adamw_restart(struct adamw *optimizer);

double adamw_rate(const struct adamw *optimizer);

/* Where the first step takes a parameter, in closed form and double precision: to p - rate (g / (|g| + epsilon) + decay p), for
 * then the moments' corrections cancel their decay. */
double adamw_first_step(const struct adamw *optimizer, double p, double g);

/* One step: parameters (count) move against gradients (count). */
void adamw_update(struct adamw *optimizer, float *parameters, const float *gradients);

/* There will be no other step: the moments are let go. */
void adamw_end(struct adamw *optimizer);

#endif
