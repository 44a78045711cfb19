/* reducer: adds up a model's gradients over the ranks while backward still computes them. This is what PyTorch's
 * DistributedDataParallel does (Li et al., "PyTorch Distributed", VLDB 2020; torch/csrc/distributed/c10d/reducer.cpp):
 *
 *     1  The gradients are one array. A bucket is a piece of it, some neighbouring tensors: so nothing is copied into buckets or back
 *        (gradient_as_bucket_view=True).
 *     2  A bucket counts its tensors that backward has not computed yet. At zero it is ready.
 *     3  Buckets start their all-reduces in order, because all ranks must make the same calls in the same order: a bucket that is
 *        ready waits until those before it have started.
 *     4  reducer_finish() waits for all sums. Then the optimizer may use the gradients.
 *
 * A tensor whose gradient never becomes ready, because its rank does not use it in this step, stops its bucket and all buckets behind
 * it; enum unused has the choices. A rank without data takes part by reducer_shadow(). */
#ifndef LOCKSTEP_REDUCER_H
#define LOCKSTEP_REDUCER_H

#include "collective/buckets.h"
#include "model/model.h"

enum wire {
    WIRE_F32,
    WIRE_BF16,     /* half the bytes; DDP's bf16_compress_hook */
    WIRE_LOW_RANK, /* each matrix as the product of two vectors; DDP's powerSGD_hook (low_rank.h) */
    WIRES
};

/* Treatment of a gradient that backward does not compute. */
enum unused {
    UNUSED_STOPS, /* reducer_finish() ends the program */
    UNUSED_LEFT_OUT, /* this rank does not sum its bucket: a mistake, after which the calls of the ranks do not fit together */
    UNUSED_ZEROS, /* it counts as zeros, from the end of backward on */
    UNUSED_FOUND, /* … from before backward on: reducer_find_unused(); DDP's find_unused_parameters */
    UNUSED_LEARNT, /* … of the tensors that the first step did not use, from the begin of backward on; DDP's static_graph */
    UNUSED_WAYS
};

struct reducer_settings {
    size_t first, most;  /* floats: the caps of the first bucket and of the others (buckets.h) */
    bool in_model_order; /* buckets begin with the first tensor, which backward computes last */
    bool
        rebuilds; /* after its first step the reducer puts the tensors into buckets in the order that backward had; if that may differ
                      between ranks, as with unused tensors, is_shared must be set */
    bool waits;       /* nothing starts before reducer_finish() */
    bool accumulates; /* reducer_no_sync() will be called */
    enum wire wire;
    enum unused unused;
    bool
        in_any_order; /* a bucket starts as soon as it is ready: right only if all ranks compute gradients in one order */
    bool
        is_shared; /* rank 0 broadcasts its buckets: a difference of caps or order does no harm; all ranks restart together */
};

/* Open a reducer on `ranks` ranks for a model that has whole gradients, not shards. */
struct reducer;
struct reducer *reducer_open(struct model *model, int ranks);
void reducer_close(struct reducer *reducer);

/* Memory of a reducer's own buffers, in bytes. */
double reducer_memory(const struct workload *workload, enum wire wire);

/* Forget earlier steps. Later steps have these settings and sum through this collective. */
void reducer_restart(struct reducer *reducer, struct collective *collective, const struct reducer_settings *settings);

/* Return the hooks that a model must call during backward: reducer_ready() after each layer. */
struct model_hooks reducer_hooks(struct reducer *reducer);

/* Start the sums of the buckets that are ready, and let started sums advance. Call it when backward has computed a layer's gradients. */
void reducer_ready(struct reducer *reducer, int layer);

/* Switch accumulation on or off, like DDP's no_sync(). While on, the gradients of backward are added up on this rank and nothing is
 * sent; the next backward without it adds them to its own before their sums start. */
void reducer_no_sync(struct reducer *reducer, bool is_on);

/* Wait for all sums of this backward: the gradients are the sums over ranks. Also call it under no_sync, where it waits for
 * nothing. */
void reducer_finish(struct reducer *reducer);

/* UNUSED_FOUND, all: after forward and before backward, walk over the tensors and take zeros for those whose layer this rank does not use
 * in this step. reducer_finish() then also adds up how many ranks use each. */
void reducer_find_unused(struct reducer *reducer, bool (*is_used)(const void *argument, int layer),
                         const void *argument);

/* Return the number of ranks that used the layer in the last step; -1 unless UNUSED_FOUND. An optimizer may skip a layer that no rank
 * used. */
int reducer_users(const struct reducer *reducer, int layer);

/* Take part in the sums of a step with zeros, in place of forward, backward and reducer_finish(), on a rank that has no data. */
void reducer_shadow(struct reducer *reducer);

/* The buckets of the next step. */
const struct buckets *reducer_buckets(const struct reducer *reducer);

/* Return the low-rank wire with the errors that it has not sent yet; NULL if no step had that wire. */
struct low_rank;
const struct low_rank *reducer_low_rank(const struct reducer *reducer);

#endif
