/* branch_cost: the seconds of a branch (branch.h), from its settings and a few costs of the machine. A formula takes these from the
 * machine card, a modelled machine from its platform file.
 *
 *     pass     = launches + work, or the larger of the two where operations run beside their dispatch (a GPU)
 *     launches = operations x dispatch (EAGER), operations x call (REPLAY), nothing (FUSED); and what a pass enqueues beside operations:
 *                fills, a graph, a fused kernel
 *     work     = for each operation (c^p + m^p)^(1/p), where c = cells x arithmetic, m = bytes / bandwidth, p = overlap_power; the larger
 *                of the two if all of it overlaps. A roofline of its own, because operations run one after the other. And the bytes of the
 *                pass's edges (branch_edge_bytes()) / bandwidth
 *     work     of FUSED = cells x blocks x arithmetic + bytes / bandwidth: a core loads a tile, then computes on it for long
 *
 * With half the arithmetic (half.h), cells that operations copy take as long as those of RELU; of FUSED they take nothing.
 *
 * bytes count where the tensors of an operation exceed the cache nearest the core. bandwidth then depends on how much memory all tensors
 * of the chain take: the whole chain runs before one of them is used again. Smaller tensors wait only for what operations just before
 * have not touched, if the chain exceeds the core's second cache; their loops are too short to load ahead, so this time adds.
 *
 * Costs by name, a number each (NaN: unknown, and so is the result, unless said otherwise):
 *     dispatch_s, dispatch_back_s, call_s         of an operation
 *     enqueue_s                                   of what is enqueued beside operations: 0 if unknown
 *     add_s, add_back_s, add_bf16_s, mul_s, …     of a cell: operation, bf16, back
 *     fused_micro_s, fused_norm_back_s, …         of a cell and block in one loop: kind, bf16, back
 *     triad_8m_bytes_per_s, triad_bytes_per_s     of a loop on 8 MiB and less, on 192 MiB and more, which is memory: for FUSED
 *     chain_6m_bytes_per_s, chain_14m_…           of chains of 6 MiB and less, of 14, 22, 34, 56, of 192 MiB and more: as of memory
 *                                                 if unknown
 *     cache_bytes                                 of the cache nearest the core
 *     second_cache_bytes                          of its second one; 0 or unknown: no chain exceeds it
 *     overlap_power                               0 or unknown: computing and moving overlap entirely
 *     is_async                                    operations run beside their dispatch; arithmetic and bytes of FUSED overlap */
#ifndef LOCKSTEP_BRANCH_COST_H
#define LOCKSTEP_BRANCH_COST_H

#include "model/branch.h"

/* Return a cost of the machine by name. */
typedef double branch_cost(const void *machine, const char *name);

/* Return the two terms of forward or backward, in seconds; 0 for BRANCH_NONE. */
struct branch_terms {
    double launches, work;
};
struct branch_terms branch_terms(struct branch_settings of, bool is_backward, branch_cost *cost, const void *machine);

/* Return the seconds of both, one after the other or at once. */
double branch_seconds(struct branch_settings of, bool is_backward, branch_cost *cost, const void *machine);

/* Return the seconds of a single operation without its launch, in a chain whose tensors take `chain_bytes` (branch_bytes()). */
double branch_operation_seconds(const struct pointwise_back *call, bool is_backward, double chain_bytes,
                                branch_cost *cost, const void *machine);

/* Return the seconds of a pass on a modelled machine, whose properties are own_NAME; a missing one costs nothing. Looks up some hundred
 * names in a long chain. */
double branch_modelled_seconds(struct branch_settings of, bool is_backward);

#endif
