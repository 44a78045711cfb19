#include "collective/shards.h"

#include "base/memory.h"
#include "device/device.h"
#include "model/adamw.h"

#include <math.h>
#include <stdlib.h>

enum { NO_LAYER = -1 };

struct shards {
    struct model *model;
    struct collective *collective;
    const struct group *group;
    size_t ranks;
    size_t *first; /* (layers + 1): where this rank's shard of a layer begins in the arrays below */
    float *parameters, *gradients;
    struct adamw *optimizer;
    /* Whole layers, one at a time: */
    float *whole, *whole_gradients;
    int gathered; /* layer in `whole`, or NO_LAYER */
};

static size_t shard_size(size_t parameters, size_t ranks)
{
    return (parameters + ranks - 1) / ranks;
}

/* Return the floats of a layer's shard on this rank. */
static size_t shard_of(const struct shards *s, int layer)
{
    return s->first[layer + 1] - s->first[layer];
}

/* Gather the parameters of a layer, unless they were gathered last. */
static void gather_layer(void *argument, int layer)
{
    struct shards *s = argument;
    if (s->gathered != layer)
        collective_run(s->collective, in_group(s->group, all_gather(TYPE_F32, s->parameters + s->first[layer], s->whole,
                                                                    shard_of(s, layer))));
    s->gathered = layer;
    s->model->layer[layer].parameters = s->whole;
    s->model->layer[layer].gradients = s->whole_gradients;
}

static void scatter_gradients(void *argument, int layer)
{
    struct shards *s = argument;
    const size_t count = s->model->layer[layer].count, padded = s->ranks * shard_of(s, layer);
    device_fill(s->whole_gradients + count, 0, padded - count);
    collective_run(s->collective,
                   in_group(s->group, reduce_scatter(TYPE_F32, s->whole_gradients, s->gradients + s->first[layer],
                                                     shard_of(s, layer))));
}

struct shards *shards_open(const struct workload *workload, uint64_t seed, struct batch_most most,
                           struct collective *collective, const struct group *group)
{
    struct shards *s = memory_new(1, sizeof *s);
    *s = (struct shards){ .collective = collective, .group = group, .ranks = (size_t)group_size(group) };
    s->model = model_open_in_shards(workload, seed, most);
    s->first = memory_new((size_t)s->model->layers + 1, sizeof *s->first);
    size_t largest = 0;
    for (int layer = 0; layer < s->model->layers; layer++) {
        size_t size = shard_size(s->model->layer[layer].count, s->ranks);
        s->first[layer + 1] = s->first[layer] + size;
        largest = size > largest ? size : largest;
    }
    const size_t own = s->first[s->model->layers];
    s->parameters = device_new(MEMORY_PARAMETERS, own, sizeof(float));
    s->gradients = device_new(MEMORY_GRADIENTS, own, sizeof(float));
    s->whole = device_new(MEMORY_COMMUNICATION, s->ranks * largest, sizeof(float));
    s->whole_gradients = device_new(MEMORY_COMMUNICATION, s->ranks * largest, sizeof(float));
    s->optimizer = adamw_open_shard(workload_costs(workload), own, s->model->count, workload_learning_rate(workload));
    model_hook(s->model, (struct model_hooks){ s, gather_layer, scatter_gradients });
    shards_restart(s);
    return s;
}

void shards_close(struct shards *s)
{
    adamw_close(s->optimizer);
    model_close(s->model);
    device_free(s->parameters);
    device_free(s->gradients);
    device_free(s->whole);
    device_free(s->whole_gradients);
    free(s->first);
    free(s);
}

struct memory_estimate shards_memory(const struct workload *workload, struct batch_most most, int ranks)
{
    struct memory_estimate memory = model_memory(workload, most);
    double own = 0, largest = 0;
    for (int layer = 0; layer < workload_layers(workload); layer++) {
        double size = (double)shard_size(workload_layer_parameters(workload, layer), (size_t)ranks);
        own += size;
        largest = fmax(largest, size);
    }
    memory.of[MEMORY_PARAMETERS] = memory.of[MEMORY_GRADIENTS] = own * sizeof(float);
    memory.of[MEMORY_MOMENTS] = 2 * own * sizeof(float);
    memory.of[MEMORY_COMMUNICATION] = 2 * ranks * largest * sizeof(float);
    return memory;
}

/* Draw a layer's parameters, of which this rank keeps its shard. Every rank draws all of them, in pieces. */
static void draw_layer(struct shards *s, int layer, struct weights *weights)
{
    enum { PIECE = 8192 };
    float piece[PIECE];
    const size_t count = s->model->layer[layer].count, begin = (size_t)group_rank(s->group) * shard_of(s, layer);
    const size_t end = begin + shard_of(s, layer) < count ? begin + shard_of(s, layer) : count;
    for (size_t at = 0, drawn; at < count; at += drawn) {
        drawn = count - at < PIECE ? count - at : PIECE;
        weights_next(weights, piece, drawn);
        const size_t from = at > begin ? at : begin, to = at + drawn < end ? at + drawn : end;
        if (from < to)
            device_put(s->parameters + s->first[layer] + from - begin, piece + from - at, (to - from) * sizeof *piece);
    }
}

void shards_restart(struct shards *s)
{
    struct weights weights = model_weights(s->model);
    model_restart(s->model);
    adamw_restart(s->optimizer);
    s->gathered = NO_LAYER;
    device_fill(s->parameters, 0, s->first[s->model->layers]);
    device_fill(s->gradients, NAN, s->first[s->model->layers]);
    for (int layer = 0; layer < s->model->layers && device_computes(); layer++)
        draw_layer(s, layer, &weights);
}

void shards_forward(struct shards *s, const struct batch *batch)
{
    s->gathered = NO_LAYER; /* an update may have changed the parameters since */
    model_forward(s->model, batch);
}

void shards_backward(struct shards *s, const struct batch *batch)
{
    model_backward(s->model, batch);
}

void shards_update(struct shards *s)
{
    adamw_update(s->optimizer, s->parameters, s->gradients);
    s->gathered = NO_LAYER;
}

double shards_loss(const struct shards *s, int passes)
{
    return model_loss(s->model, passes);
}

void shards_gather(struct shards *s, float *out)
{
    for (int layer = 0; layer < s->model->layers; layer++) {
        gather_layer(s, layer);
        device_copy(out + s->model->layer[layer].first, s->whole, s->model->layer[layer].count);
    }
}
