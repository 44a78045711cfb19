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
    return o->overlaps ? buckets_cut(message_floats(o), bucket_floats(o), workload_layers(&o->model))
                       : (struct buckets){ 0 };
}

static struct reducer_settings own_buckets(const struct options *o)
{
    const size_t all = workload_parameters(&o->model);
    const size_t last = workload_layer_parameters(&o->model, workload_layers(&o->model) - 1);
    return (struct reducer_settings){ .first = o->gradient_buckets == 2 ? last : all, .most = all };
}

struct buckets cut_own(const struct options *o)
{
    const struct reducer_settings own = own_buckets(o);
    return o->gradient_buckets > 0 ? buckets_of_model(&o->model, false, own.first, own.most) : (struct buckets){ 0 };
}

struct buffers buffers_open(const struct options *o, struct model *model)
{
    size_t count = message_floats(o), own = workload_parameters(&o->model);
    struct buffers b = { .kept = device_new(MEMORY_COMMUNICATION, count, sizeof(float)),
                         .narrow = device_new(MEMORY_COMMUNICATION, count > own ? count : own, sizeof(uint16_t)),
                         .own = reducer_open(model, o->run.ranks) };
    buffers_restart(&b, o, NULL);
    return b;
}

void buffers_restart(struct buffers *b, const struct options *o, struct collective *collective)
{
    device_unmap(b->fresh, message_floats(o) * sizeof(float));
    b->fresh = NULL;
    b->kept_value = INFINITY;
    const struct reducer_settings own = own_buckets(o);
    if (o->gradient_buckets > 0)
        reducer_restart(b->own, collective, &own);
}

void buffers_close(struct buffers *b, const struct options *o)
{
    device_unmap(b->fresh, message_floats(o) * sizeof(float));
    reducer_close(b->own);
    device_free(b->kept);
    device_free(b->narrow);
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
    fresh = device_map(MEMORY_COMMUNICATION, count * sizeof *fresh);
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

/* Arguments of start_ready(), which starts sums during backward. */
struct starts {
    struct collective *collective;
    const struct options *o;
    struct buckets extra;
    float *message;
    struct buffers *buffers;
};

static void start_ready(void *argument, int layer)
{
    struct starts *s = argument;
    buckets_start(&s->extra, layer, s->collective, s->message, s->message,
                  &s->buffers->started); /* <- the fix: transfer while backward goes on */
    if (s->o->gradient_buckets > 0)
        reducer_ready(s->buffers->own, layer);
    else if (s->o->calls_library)
        collective_progress(s->collective);
}

void backward_and_start_buckets(struct collective *collective, const struct options *o, struct buffers *b,
                                struct trainer *t, const struct batch *batch)
{
    struct starts starts = { collective, o, cut_message(o), NULL, b };
    if (starts.extra.count > 0)
        starts.message = next_message(b, message_floats(o), o->run.ranks);
    model_hook(t->model, (struct model_hooks){ .argument = &starts, .gradients_ready = start_ready });
    trainer_backward(t, batch);
    model_hook(t->model, (struct model_hooks){ 0 });
}

void finish_buckets(struct collective *collective, const struct options *o, struct buffers *b)
{
    buckets_finish(&b->started, collective);
    if (o->gradient_buckets > 0)
        reducer_finish(b->own);
}
