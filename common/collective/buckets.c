#include "collective/buckets.h"

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
