#include "model/batch.h"

#include "device/device.h"

#include <math.h>

struct batch_most batch_most_of(struct batch_most a, struct batch_most b)
{
    return (struct batch_most){ .samples = fmax(a.samples, b.samples),
                                .rows = fmax(a.rows, b.rows),
                                .length = fmax(a.length, b.length) };
}

struct work batch_work(const struct batch *batch)
{
    struct work work = work_samples(batch->samples);
    for (int i = 0; batch->listed && i < batch->samples; i++) {
        const int extent = batch->listed[i].extent;
        work.padded_tokens += extent;
        work.padded_token_length += (double)extent * extent;
        work.computed_token_length += (double)extent * device_attention_queries(extent);
    }
    return work;
}
