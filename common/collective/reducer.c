#include "collective/reducer.h"

#include "base/die.h"
#include "base/memory.h"
#include "collective/low_rank.h"
#include "collective/reducer_private.h"
#include "device/device.h"
#include "world/world.h"

#include <stdlib.h>

struct reducer *reducer_open(struct model *model, int ranks)
{
    struct reducer *r = memory_new(1, sizeof *r);
    r->model = model;
    r->ranks = ranks;
    r->tensors = workload_tensors(&model->workload, NULL);
    r->tensor = memory_new((size_t)r->tensors, sizeof *r->tensor);
    r->bucket_of = memory_new((size_t)r->tensors, sizeof *r->bucket_of);
    r->seen = memory_new((size_t)r->tensors, sizeof *r->seen);
    reducer_unused_open(&r->unused, r->tensors, ranks);
    workload_tensors(&model->workload, r->tensor);
    return r;
}

void reducer_close(struct reducer *r)
{
    device_free(r->narrow);
    device_free(r->held);
    if (r->low_rank)
        low_rank_close(r->low_rank);
    reducer_unused_close(&r->unused);
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
    reducer_unused_begin(&r->unused, r->tensors);
    for (int i = 0; i < r->buckets.count; i++) {
        r->pending[i] = r->buckets.at[i].last_tensor - r->buckets.at[i].first_tensor + 1;
        r->ticket[i] = NOT_STARTED;
    }
}

/* all: replace the buckets by those of rank 0. */
static void share_buckets(struct reducer *r)
{
    struct {
        int count, first_tensor[BUCKETS_MOST], last_tensor[BUCKETS_MOST];
    } of_0 = { .count = r->buckets.count };
    for (int i = 0; i < r->buckets.count; i++) {
        of_0.first_tensor[i] = r->buckets.at[i].first_tensor;
        of_0.last_tensor[i] = r->buckets.at[i].last_tensor;
    }
    world_broadcast(collective_world(r->collective), &of_0, sizeof of_0);
    r->buckets.count = of_0.count;
    for (int i = 0; i < of_0.count; i++)
        r->buckets.at[i] = bucket_of_tensors(r->tensor, of_0.first_tensor[i], of_0.last_tensor[i]);
}

/* Put the tensors into buckets, in this order (tensors; NULL: from the last to the first). */
static void build(struct reducer *r, const int *order)
{
    r->buckets = buckets_of_tensors(r->tensor, order, r->tensors, r->settings.first, r->settings.most);
    if (r->buckets.count > BUCKETS_MOST)
        die(STATUS_WRONG, "the gradients need %d buckets, but at most %d are possible; use larger ones",
            r->buckets.count, BUCKETS_MOST);
    if (r->settings.is_shared)
        share_buckets(r);
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
    reducer_unused_restart(&r->unused);
    if (settings->accumulates && !r->held)
        r->held = device_new(MEMORY_COMMUNICATION, r->model->count, sizeof *r->held);
    if (settings->wire != WIRE_BF16) { /* of a case before */
        device_free(r->narrow);
        r->narrow = NULL;
    }
    if (settings->wire == WIRE_BF16 && !r->narrow)
        r->narrow = device_new(MEMORY_COMMUNICATION, r->model->count, sizeof *r->narrow);
    if (settings->wire != WIRE_LOW_RANK && r->low_rank) {
        low_rank_close(r->low_rank);
        r->low_rank = NULL;
    }
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
    sum.bucket = i + 1;
    r->ticket[i] = collective_start(r->collective, sum);
}

/* The first sum of a bucket of low rank is there. A bucket without matrices needs no second one. */
static void start_second(struct reducer *r, int i)
{
    const struct collective_op sum = low_rank_second(r->low_rank, &r->buckets.at[i]);
    r->ticket[i] = sum.count > 0 ? collective_start(r->collective, sum) : NO_TICKET;
    collective_progress(r->collective);
}

void reducer_start_ready(struct reducer *r)
{
    for (int i = r->started; i < r->buckets.count && (r->pending[i] == 0 || r->settings.in_any_order); i++)
        if (r->pending[i] == 0 && r->ticket[i] == NOT_STARTED)
            start(r, i);
    while (r->started < r->buckets.count && r->ticket[r->started] != NOT_STARTED)
        r->started++;
}

void reducer_tensor_is_ready(struct reducer *r, int tensor)
{
    r->seen[r->count_seen++] = tensor;
    r->pending[r->bucket_of[tensor]]--;
    r->unused.is_ready[tensor] = true;
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
    if (r->count_seen == 0 && r->settings.unused == UNUSED_LEARNT)
        reducer_take_learnt(r);
    for (int tensor = r->tensors - 1; tensor >= 0; tensor--)
        if (r->tensor[tensor].layer == layer && !r->unused.is_ready[tensor])
            reducer_tensor_is_ready(r, tensor);
    if (!r->settings.waits)
        reducer_start_ready(r);
    if (r->count_seen < r->tensors)
        collective_progress(r->collective);
    else /* reducer_finish() follows. Progress would move bytes here, and their time would be backward's */
        collective_only_waits(r->collective);
}

static void ready(void *argument, int layer)
{
    reducer_ready(argument, layer);
}

struct model_hooks reducer_hooks(struct reducer *r)
{
    return (struct model_hooks){ .argument = r, .gradients_ready = ready };
}

/* Wait for the sum of a bucket, unless it was left out. */
static void finish_sum(struct reducer *r, int i)
{
    const struct bucket *b = &r->buckets.at[i];
    if (r->ticket[i] == NOT_STARTED)
        return;
    collective_finish(r->collective, r->ticket[i]);
    if (r->settings.wire == WIRE_BF16)
        device_widen(r->model->gradients + b->begin, r->narrow + b->begin, b->count);
    if (r->settings.wire == WIRE_LOW_RANK)
        start_second(r, i);
}

void reducer_finish(struct reducer *r)
{
    r->holds = r->no_sync;
    if (r->no_sync)
        return;
    reducer_settle_unused(r);
    reducer_start_ready(r);
    if (r->started < r->buckets.count && r->settings.unused == UNUSED_STOPS)
        die(STATUS_WRONG, "bucket %d of %d waits for %d gradients that backward has not computed", r->started + 1,
            r->buckets.count, r->pending[r->started]);
    for (int i = r->started; i < r->buckets.count; i++)
        if (r->pending[i] == 0 && r->ticket[i] == NOT_STARTED)
            start(r, i); /* behind one that is left out */
    reducer_start_users(r);
    for (int i = 0; i < r->buckets.count; i++)
        finish_sum(r, i);
    for (int i = 0; i < r->buckets.count && r->settings.wire == WIRE_LOW_RANK; i++) {
        if (r->ticket[i] >= 0)
            collective_finish(r->collective, r->ticket[i]);
        low_rank_end(r->low_rank, &r->buckets.at[i]);
    }
    reducer_finish_users(r);
    if (r->settings.rebuilds && !r->was_built_by_order) {
        r->was_built_by_order = true;
        build(r, r->seen);
    }
    begin_step(r);
}

void reducer_shadow(struct reducer *r)
{
    device_fill(r->model->gradients, 0, r->model->count);
    for (int layer = r->model->layers - 1; layer >= 0; layer--)
        reducer_ready(r, layer);
    reducer_finish(r);
}

const struct low_rank *reducer_low_rank(const struct reducer *r)
{
    return r->low_rank;
}

const struct buckets *reducer_buckets(const struct reducer *r)
{
    return &r->buckets;
}
