#include "collective/reducer.h"

#include "base/die.h"
#include "base/memory.h"
#include "collective/low_rank.h"
#include "device/device.h"

#include <stdlib.h>

enum { NO_TICKET = -1 };

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
    int started;               /* buckets whose sums have started: 0 … started - 1 */
    bool was_built_by_order;   /* the buckets have the order of an earlier backward */
    uint16_t *narrow;          /* (count of the model) the gradients in bf16, or NULL */
    struct low_rank *low_rank; /* or NULL */
    float *held;               /* (count of the model) gradients of the backwards under no_sync, or NULL */
    bool no_sync, holds;       /* `held` has something */
};

struct reducer *reducer_open(struct model *model, int ranks)
{
    struct reducer *r = memory_new(1, sizeof *r);
    r->model = model;
    r->ranks = ranks;
    r->tensors = workload_tensors(&model->workload, NULL);
    r->tensor = memory_new((size_t)r->tensors, sizeof *r->tensor);
    r->bucket_of = memory_new((size_t)r->tensors, sizeof *r->bucket_of);
    r->seen = memory_new((size_t)r->tensors, sizeof *r->seen);
    workload_tensors(&model->workload, r->tensor);
    return r;
}

void reducer_close(struct reducer *r)
{
    device_free(r->narrow);
    device_free(r->held);
    if (r->low_rank)
        low_rank_close(r->low_rank);
    free(r->tensor);
    free(r->bucket_of);
    free(r->seen);
    free(r);
}

double reducer_memory(const struct workload *workload, enum wire wire)
{
    return wire == WIRE_BF16       ? workload_gradient_bytes(workload) / 2
           : wire == WIRE_LOW_RANK ? low_rank_memory(workload)
                                   : 0;
}

/* Begin a step: nothing is ready, nothing has started. */
static void begin_step(struct reducer *r)
{
    r->started = r->count_seen = 0;
    for (int i = 0; i < r->buckets.count; i++)
        r->pending[i] = r->buckets.at[i].last_tensor - r->buckets.at[i].first_tensor + 1;
}

/* Put the tensors into buckets, in this order (tensors; NULL: from the last to the first). */
static void build(struct reducer *r, const int *order)
{
    r->buckets = buckets_of_tensors(r->tensor, order, r->tensors, r->settings.first, r->settings.most);
    if (r->buckets.count > BUCKETS_MOST)
        die(STATUS_WRONG, "the gradients need %d buckets, but at most %d are possible; use larger ones",
            r->buckets.count, BUCKETS_MOST);
    for (int i = 0; i < r->buckets.count; i++)
        for (int tensor = r->buckets.at[i].first_tensor; tensor <= r->buckets.at[i].last_tensor; tensor++)
            r->bucket_of[tensor] = i;
    begin_step(r);
}

void reducer_restart(struct reducer *r, struct collective *collective, const struct reducer_settings *settings)
{
    r->collective = collective;
    r->settings = *settings;
    r->was_built_by_order = r->no_sync = r->holds = false;
    if (settings->accumulates && !r->held)
        r->held = device_new(r->model->count, sizeof *r->held);
    if (settings->wire == WIRE_BF16 && !r->narrow)
        r->narrow = device_new(r->model->count, sizeof *r->narrow);
    if (settings->wire == WIRE_LOW_RANK && !r->low_rank)
        r->low_rank = low_rank_open(r->model, r->ranks);
    if (settings->wire == WIRE_LOW_RANK)
        low_rank_restart(r->low_rank);
    for (int tensor = 0; tensor < r->tensors; tensor++)
        r->seen[tensor] = tensor;
    build(r, settings->in_model_order ? r->seen : NULL);
}

static void start(struct reducer *r, int i)
{
    const struct bucket *b = &r->buckets.at[i];
    float *gradients = r->model->gradients + b->begin;
    struct collective_op sum = all_reduce(TYPE_F32, gradients, gradients, b->count);
    if (r->settings.wire == WIRE_BF16) {
        uint16_t *narrow = r->narrow + b->begin;
        device_narrow(narrow, gradients, b->count);
        sum = all_reduce(TYPE_BF16, narrow, narrow, b->count);
    }
    if (r->settings.wire == WIRE_LOW_RANK)
        sum = low_rank_first(r->low_rank, b);
    r->ticket[i] = collective_start(r->collective, sum);
}

/* The first sum of a bucket of low rank is there. A bucket without matrices needs no second one. */
static void start_second(struct reducer *r, int i)
{
    const struct collective_op sum = low_rank_second(r->low_rank, &r->buckets.at[i]);
    r->ticket[i] = sum.count > 0 ? collective_start(r->collective, sum) : NO_TICKET;
    collective_progress(r->collective);
}

static void start_ready(struct reducer *r)
{
    while (r->started < r->buckets.count && r->pending[r->started] == 0)
        start(r, r->started++);
}

/* Keep a layer's gradients, or add what is kept to them. */
static void hold(struct reducer *r, const struct model_layer *layer)
{
    float *held = r->held + layer->first;
    if (r->no_sync && r->holds)
        device_add(held, layer->gradients, layer->count);
    else if (r->no_sync)
        device_copy(held, layer->gradients, layer->count);
    else if (r->holds)
        device_add(layer->gradients, held, layer->count);
}

void reducer_no_sync(struct reducer *r, bool is_on)
{
    r->no_sync = is_on;
}

void reducer_ready(struct reducer *r, int layer)
{
    if (r->held)
        hold(r, &r->model->layer[layer]);
    if (r->no_sync)
        return;
    for (int tensor = r->tensors - 1; tensor >= 0; tensor--)
        if (r->tensor[tensor].layer == layer) {
            r->seen[r->count_seen++] = tensor;
            r->pending[r->bucket_of[tensor]]--;
        }
    if (!r->settings.waits)
        start_ready(r);
    collective_progress(r->collective);
}

static void ready(void *argument, int layer)
{
    reducer_ready(argument, layer);
}

struct model_hooks reducer_hooks(struct reducer *r)
{
    return (struct model_hooks){ .argument = r, .gradients_ready = ready };
}

void reducer_finish(struct reducer *r)
{
    r->holds = r->no_sync;
    if (r->no_sync)
        return;
    start_ready(r);
    if (r->started < r->buckets.count)
        die(STATUS_WRONG, "bucket %d of %d waits for %d gradients that backward has not computed", r->started,
            r->buckets.count, r->pending[r->started]);
    for (int i = 0; i < r->buckets.count; i++) {
        const struct bucket *b = &r->buckets.at[i];
        collective_finish(r->collective, r->ticket[i]);
        if (r->settings.wire == WIRE_BF16)
            device_widen(r->model->gradients + b->begin, r->narrow + b->begin, b->count);
        if (r->settings.wire == WIRE_LOW_RANK)
            start_second(r, i);
    }
    for (int i = 0; i < r->buckets.count && r->settings.wire == WIRE_LOW_RANK; i++) {
        if (r->ticket[i] != NO_TICKET)
            collective_finish(r->collective, r->ticket[i]);
        low_rank_end(r->low_rank, &r->buckets.at[i]);
    }
    if (r->settings.rebuilds && !r->was_built_by_order) {
        r->was_built_by_order = true;
        build(r, r->seen);
    }
    begin_step(r);
}

const struct low_rank *reducer_low_rank(const struct reducer *r)
{
    return r->low_rank;
}

const struct buckets *reducer_buckets(const struct reducer *r)
{
    return &r->buckets;
}
