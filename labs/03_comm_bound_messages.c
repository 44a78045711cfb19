/* 03_comm_bound_messages: the messages of lab 03, cut into buckets, filled, and summed. */
#include "03_comm_bound.h"

#include <math.h>

size_t message_floats(const struct options *o)
{
    return (size_t)o->comm_mb * MIB / sizeof(float);
}

size_t bucket_floats(const struct options *o)
{
    return (size_t)o->bucket_mb * MIB / sizeof(float);
}

struct buckets cut_message(const struct options *o)
{
    return o->overlaps ? buckets_cut(message_floats(o), bucket_floats(o), MLP_LAYERS) : (struct buckets){ 0 };
}

struct buckets cut_own(const struct options *o)
{
    size_t last = mlp_layer_offset(&o->run, MLP_LAYERS - 1), end = mlp_layer_offset(&o->run, MLP_LAYERS);
    struct buckets own = { .count = o->own_buckets };
    own.at[0] = (struct bucket){ .begin = 0, .count = end, .layer = 0 };
    if (own.count == 2) {
        own.at[0] = (struct bucket){ .begin = last, .count = end - last, .layer = MLP_LAYERS - 1 };
        own.at[1] = (struct bucket){ .begin = 0, .count = last, .layer = 0 };
    }
    return own;
}

float *next_message(struct buffers *b, size_t count, int ranks)
{
    const float least = 0x1p-60f, most = 0x1p60f;
    if (!(b->kept_value <= most)) {
        device_fill(b->kept, least, count);
        b->kept_value = least;
    }
    b->kept_value *= (float)ranks;
    return b->kept;
}

float *renew(float *fresh, size_t count)
{
    device_unmap(fresh, count * sizeof *fresh);
    fresh = device_map(count * sizeof *fresh);
    device_fill(fresh, 1, count);
    return fresh;
}

void sum_in_place(struct collective *collective, enum element_type wire, struct buffers *b, float *terms, size_t count)
{
    if (wire == TYPE_F32) {
        collective_run(collective, all_reduce(wire, terms, terms, count));
        return;
    }
    device_narrow(b->narrow, terms, count);
    collective_run(collective, all_reduce(wire, b->narrow, b->narrow, count));
    device_widen(terms, b->narrow, count);
}

void backward(struct collective *collective, const struct options *o, struct buffers *b, struct trainer *t,
              const struct batch *batch)
{
    const struct buckets extra = cut_message(o), own = cut_own(o);
    float *message = extra.count > 0 ? next_message(b, message_floats(o), o->run.ranks) : NULL;
    for (int layer = MLP_LAYERS; layer-- > 0;) {
        mlp_backward(t->model, batch, layer);
        buckets_start(&extra, layer, collective, message, message, &b->started); /* <- the fix: transfer while */
        buckets_start(&own, layer, collective, t->gradients, t->gradients, &b->started); /* backward goes on */
        if (o->progresses)
            collective_progress(collective);
    }
}
