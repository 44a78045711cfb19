/* reducer_private: a reducer's data, shared by the files that implement reducer.h. Nothing else includes this header.
 *
 * reducer.c has buckets, their sums and the end of a step; reducer_unused.c, gradients that backward does not compute. */
#ifndef LOCKSTEP_REDUCER_PRIVATE_H
#define LOCKSTEP_REDUCER_PRIVATE_H

#include "collective/reducer.h"

#include <stdint.h>

enum { NO_TICKET = -1, NOT_STARTED = -2 };

/* Tensors without gradient. */
struct reducer_unused {
    bool *is_ready;   /* (tensors) in this step */
    bool *was_unused; /* (tensors) in the first step, once has_learnt */
    bool has_learnt;
    float *
        users; /* (padded) device memory: 1 if this rank uses a tensor; after the sum, how many do. NULL before the first use */
    float *users_host; /* (padded) */
    size_t padded;     /* tensors, and zeros up to a multiple of the ranks: a ring sends equal parts */
    int ticket;        /* of that sum */
};

struct reducer {
    struct model *model;
    int ranks;
    struct collective *collective;
    struct reducer_settings settings;
    int tensors;
    struct model_tensor *tensor; /* (tensors) */
    int *bucket_of;              /* (tensors): the bucket of each */
    int *seen, count_seen;       /* (tensors): the order in which the gradients of this step became ready */
    struct buckets buckets;
    int pending[BUCKETS_MOST]; /* tensors of a bucket that are not ready */
    int ticket[BUCKETS_MOST];
    int started;               /* the sums of all buckets before this one have started */
    bool was_built_by_order;   /* the buckets have the order of an earlier backward */
    uint16_t *narrow;          /* (count of the model) the gradients in bf16, or NULL */
    struct low_rank *low_rank; /* or NULL */
    float *held;               /* (count of the model) gradients of the backwards under no_sync, or NULL */
    bool no_sync, holds;       /* `held` has something */
    struct reducer_unused unused;
};

/* Start the sums of all buckets whose turn it is. Call it when a tensor's gradient is ready. */
void reducer_tensor_is_ready(struct reducer *r, int tensor);
void reducer_start_ready(struct reducer *r);

void reducer_unused_open(struct reducer_unused *unused, int tensors, int ranks);
void reducer_unused_close(struct reducer_unused *unused);
void reducer_unused_restart(struct reducer_unused *unused);
void reducer_unused_begin(struct reducer_unused *unused, int tensors); /* a step */

/* UNUSED_LEARNT, at the begin of backward: take zeros for tensors that the first step did not use. */
void reducer_take_learnt(struct reducer *r);

/* Take zeros for gradients that backward has not computed, at its end, if the settings say so. */
void reducer_settle_unused(struct reducer *r);

/* UNUSED_FOUND, all: start and finish the sum of users. */
void reducer_start_users(struct reducer *r);
void reducer_finish_users(struct reducer *r);

#endif
