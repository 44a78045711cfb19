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
 * A tensor whose gradient never becomes ready stops its bucket and all buckets behind it: reducer_finish() then ends the program. */
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

struct reducer_settings {
    size_t first, most;  /* floats: the caps of the first bucket and of the others (buckets.h) */
    bool in_model_order; /* buckets begin with the first tensor, which backward computes last */
    bool rebuilds; /* after its first step the reducer puts the tensors into buckets in the order that backward had */
    bool waits;    /* nothing starts before reducer_finish() */
    bool accumulates; /* reducer_no_sync() will be called */
    enum wire wire;
};

/* Open a reducer for a model that has its gradients, not in shards, on so many ranks. */
struct reducer;
struct reducer *reducer_open(struct model *model, int ranks);
void reducer_close(struct reducer *reducer);

/* Memory of a reducer's own buffers, in bytes. */
double reducer_memory(const struct workload *workload, enum wire wire);

/* Forget earlier steps. Later steps have these settings and sum through this collective. */
void reducer_restart(struct reducer *reducer, struct collective *collective, const struct reducer_settings *settings);

/* Return what a model must call during backward: reducer_ready() after each layer. */
struct model_hooks reducer_hooks(struct reducer *reducer);

/* Backward has computed a layer's gradients: start the sums of the buckets that are ready, and let started sums advance. */
void reducer_ready(struct reducer *reducer, int layer);

/* While this is on, the gradients of backward are added up on this rank and nothing travels; the next backward without it adds them to
 * its own before their sums start. As DDP's no_sync(). */
void reducer_no_sync(struct reducer *reducer, bool is_on);

/* Wait for all sums of this backward: the gradients are the sums over ranks. Also call it under no_sync, where it waits for
 * nothing. */
void reducer_finish(struct reducer *reducer);

/* The buckets of the next step. */
const struct buckets *reducer_buckets(const struct reducer *reducer);

/* What the wire of low rank has not sent yet; NULL if no step had that wire. */
struct low_rank;
const struct low_rank *reducer_low_rank(const struct reducer *reducer);

#endif
