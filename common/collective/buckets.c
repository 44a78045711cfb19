#include "collective/buckets.h"

#include "base/memory.h"

#include <stdlib.h>

int buckets_needed(size_t floats, size_t most)
{
    return (int)((floats + most - 1) / most);
}

struct buckets buckets_cut(size_t floats, size_t most, int layers)
{
    struct buckets buckets = { .count = buckets_needed(floats, most) };
    for (int i = 0, done = 1; i < buckets.count; i++) {
        while (buckets.count * done / layers <= i) /* `done` layers do not fill bucket i */
            done++;
        size_t begin = (size_t)i * most, left = floats - begin;
        buckets.at[i] = (struct bucket){ .begin = begin, .count = left < most ? left : most, .layer = layers - done };
    }
    return buckets;
}

/* Add a tensor to a bucket that is empty or next to it. Return false if it is neither. */
static bool add_tensor(struct bucket *b, const struct model_tensor *tensor, int number)
{
    bool is_before = tensor->begin + tensor->count == b->begin, is_behind = b->begin + b->count == tensor->begin;
    if (b->count == 0)
        *b = (struct bucket){ tensor->begin, 0, tensor->layer, number, number };
    else if (!is_before && !is_behind)
        return false;
    b->begin = tensor->begin < b->begin ? tensor->begin : b->begin;
    b->count += tensor->count;
    b->layer = tensor->layer < b->layer ? tensor->layer : b->layer;
    b->first_tensor = number < b->first_tensor ? number : b->first_tensor;
    b->last_tensor = number > b->last_tensor ? number : b->last_tensor;
    return true;
}

struct bucket bucket_of_tensors(const struct model_tensor *tensors, int first_tensor, int last_tensor)
{
    struct bucket bucket = { 0 };
    for (int tensor = first_tensor; tensor <= last_tensor; tensor++)
        add_tensor(&bucket, &tensors[tensor], tensor);
    return bucket;
}

struct buckets buckets_of_tensors(const struct model_tensor *tensors, const int *order, int count, size_t first,
                                  size_t most)
{
    struct buckets buckets = { 0 };
    struct bucket open = { 0 };
    for (int i = 0; i <= count; i++) {
        const int number = i == count ? -1 : order ? order[i] : count - 1 - i;
        const size_t cap = buckets.count == 0 ? first : most;
        const bool is_full = open.count > 0 && open.count >= cap;
        if (number >= 0 && !is_full && add_tensor(&open, &tensors[number], number))
            continue;
        if (buckets.count < BUCKETS_MOST)
            buckets.at[buckets.count] = open;
        buckets.count++;
        open = (struct bucket){ 0 };
        if (number >= 0)
            add_tensor(&open, &tensors[number], number);
    }
    return buckets;
}

struct buckets buckets_of_model(const struct workload *workload, bool in_model_order, size_t first, size_t most)
{
    const int count = workload_tensors(workload, NULL);
    struct model_tensor *tensors = memory_new((size_t)count, sizeof *tensors);
    int *order = memory_new((size_t)count, sizeof *order);
    workload_tensors(workload, tensors);
    for (int i = 0; i < count; i++)
        order[i] = in_model_order ? i : count - 1 - i;
    const struct buckets buckets = buckets_of_tensors(tensors, order, count, first, most);
    free(order);
    free(tensors);
    return buckets;
}

void buckets_start(const struct buckets *buckets, int layer, struct collective *collective, const float *send,
                   float *receive, struct started_sums *started)
{
    for (int i = 0; i < buckets->count; i++) {
        const struct bucket *b = &buckets->at[i];
        if (b->layer == layer)
            started->ticket[started->count++] =
                collective_start(collective, all_reduce(TYPE_F32, send + b->begin, receive + b->begin, b->count));
    }
}

void buckets_finish(struct started_sums *started, struct collective *collective)
{
    for (int i = 0; i < started->count; i++)
        collective_finish(collective, started->ticket[i]);
    started->count = 0;
}
