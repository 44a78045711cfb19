/* trial: before anything is measured every rank takes one step of the lab's own model, alone and with a small batch, and
 * holds it against arithmetic that none of its kernels had a part in:
 *
 *     all gradients, NaN before, are numbers
 *     along a direction d the loss changes as the gradients g say, (L(p + d) - L(p - d)) / 2 = g d, if not at once, then
 *     nearer, where it bends less: for a random one, in which every parameter has its share, and for the step itself, along
 *     which the loss must fall
 *     AdamW's first step is its closed form: p - rate (g / (|g| + epsilon) + decay p)
 *
 * A kernel that does nothing, or leaves what was there before, fails one of them. Who misses more than one may not be told:
 * a rank names the first. */
#ifndef LOCKSTEP_TRIAL_H
#define LOCKSTEP_TRIAL_H

#include "base/check_failures.h"
#include "model/workload.h"
#include "options/run.h"

struct world;

/* What fails on this rank. */
struct check_failures gradcheck_model(const struct workload *workload, const struct run *run);

/* What it opens for that. */
struct memory_estimate gradcheck_memory(const struct workload *workload, const struct run *run);

/* all: on rank 0 what failed on any rank. */
struct check_failures gradcheck_run(struct world *world, const struct workload *workload, const struct run *run);

#endif
