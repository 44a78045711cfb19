/* memory_estimate: memory that a run would take. A run that cannot fit is refused before anything starts, instead of being ended
 * by the kernel minutes later.
 *
 * Each module that opens buffers reports their bytes (mlp_memory() and so on) next to the function that opens them. Not counted:
 * buffers of the MPI library, tables while they are written, pages of other processes. Estimates were 2 to 4 % below the resident
 * memory of all processes (VmHWM, Open MPI 4.1.4, 2026-11-22). The runs took 0.2 to 0.9 GB: one rank with 48 million parameters,
 * two ranks with 10 million, two ranks with a transformer of vocabulary 65536. */
#ifndef LOCKSTEP_MEMORY_ESTIMATE_H
#define LOCKSTEP_MEMORY_ESTIMATE_H

#include "base/ledger.h"

/* Bytes by owner. */
struct memory_estimate {
    double of[MEMORY_OWNERS];
};

double memory_estimate_sum(const struct memory_estimate *memory);

/* Parameters and gradients, and the two moments of their optimizer: 16 bytes a parameter. */
double memory_estimate_model(const struct memory_estimate *memory);

/* Return the same bytes, all of one owner: a model that only measures. */
struct memory_estimate memory_estimate_owned(struct memory_estimate memory, enum memory_owner owner);

/* Return the larger of two successive phases of a run, the sum of two concurrent ones, or a multiple of one. */
struct memory_estimate memory_estimate_most(struct memory_estimate a, struct memory_estimate b);
struct memory_estimate memory_estimate_add(struct memory_estimate a, struct memory_estimate b);
struct memory_estimate memory_estimate_times(struct memory_estimate memory, double times);

/* Name of the largest part ("the data set"), and options that reduce it ("a smaller batch, fewer --steps …"). */
const char *memory_estimate_largest(const struct memory_estimate *memory);
const char *memory_estimate_cure(const struct memory_estimate *memory);

#endif
