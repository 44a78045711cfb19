/* gradcheck: gradient check before a measurement. Every rank takes one step of the lab's own model, alone and with a
 * small batch, and checks the step by arithmetic on the host:
 *
 *     All gradients are NaN before the step and numbers after it.
 *     Along a direction d the loss changes as the gradients g predict: (L(p + d) - L(p - d)) / 2 = g d. If not, d is
 *     halved, because the loss bends less over a shorter distance. The first d is random, and every parameter has a
 *     share in it. The second d is the step itself, along which the loss must fall.
 *     AdamW's first step equals its closed form: p - rate (g / (|g| + epsilon) + decay p).
 *
 * A kernel that does nothing, or leaves old values, fails one of these checks. A rank reports only its first failed check. */
#ifndef LOCKSTEP_GRADCHECK_H
#define LOCKSTEP_GRADCHECK_H

#include "base/check_failures.h"
#include "model/workload.h"
#include "options/run.h"

struct world;

/* Return the failed checks of this rank. */
struct check_failures gradcheck_model(const struct workload *workload, const struct run *run);

/* Return the memory that gradcheck_model() needs. */
struct memory_estimate gradcheck_memory(const struct workload *workload, const struct run *run);

/* all: return the failed checks of all ranks on rank 0. */
struct check_failures gradcheck_run(struct world *world, const struct workload *workload, const struct run *run);

#endif
