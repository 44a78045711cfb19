#include "collective/zero.h"

#include "base/memory.h"
#include "device/device.h"
#include "model/adamw.h"

#include <math.h>
#include <stdlib.h>

enum { NO_LAYER = -1, NO_TICKET = -1, SLOTS = 2 };

/* A layer's parameters, gathered. */
struct slot {
    float *whole; /* (ranks, size of the largest part) */
    int layer;    /* NO_LAYER: none */
    int ticket;   /* of the all-gather that brings it; NO_TICKET: it is there */
};

struct zero {
    struct zero_plan plan;
    struct model *model;
    struct collective *collective;
    const struct group *group;
    size_t ranks;
    size_t *part; /* (layers + 1) where this rank's part of a layer begins in an array of its parts */
    /* Stages 0 to 2 have all parameters, 0 and 1 all gradients: of each layer, the ranks' parts one after another. Else this rank's parts. */
    float *parameters, *gradients;
    struct adamw *optimizer;
    struct slot slot[SLOTS]; /* stage 3; only the first without prefetching */
    float *whole_gradients;  /* stages 2 and 3: of the layer that backward computes */
    int step;                /* +1 in forward, -1 in backward: where the next layer is */
};

static size_t part_size(size_t parameters, size_t ranks)
{
    return (parameters + ranks - 1) / ranks;
}

static size_t part_of(const struct zero *z, int layer)
{
    return z->part[layer + 1] - z->part[layer];
}

/* Return where a layer begins in an array of all parts. */
static size_t whole_at(const struct zero *z, int layer)
{
    return z->part[layer] * z->ranks;
}

/* Return this rank's part of a layer within an array of all parts. */
static size_t own_at(const struct zero *z, int layer)
{
    return whole_at(z, layer) + (size_t)group_rank(z->group) * part_of(z, layer);
}

static bool has_all_parameters(const struct zero *z)
{
    return z->plan.stage < 3;
}

static bool has_all_gradients(const struct zero *z)
{
    return z->plan.stage < 2;
}

/* Floats that this rank holds of all parameters, and of all gradients. */
static size_t parameters_held(const struct zero *z)
{
    return z->part[z->model->layers] * (has_all_parameters(z) ? z->ranks : 1);
}

static size_t gradients_held(const struct zero *z)
{
    return z->part[z->model->layers] * (has_all_gradients(z) ? z->ranks : 1);
}

/* Return the sum of this rank's part of a layer's gradients. */
static float *own_gradients(const struct zero *z, int layer)
{
    return z->gradients + (has_all_gradients(z) ? own_at(z, layer) : z->part[layer]);
}

/* --- layers while they are used ----------------------------------------------------------------------------------- */

static struct slot *slot_of(struct zero *z, int layer)
{
    return &z->slot[z->plan.prefetches ? layer % SLOTS : 0];
}

static struct collective_op gathering(const struct zero *z, const struct slot *slot, int layer)
{
    return in_group(z->group, all_gather(TYPE_F32, z->parameters + z->part[layer], slot->whole, part_of(z, layer)));
}

/* Wait for the parameters that a slot is being filled with. */
static void settle(struct zero *z, struct slot *slot)
{
    if (slot->ticket != NO_TICKET)
        collective_finish(z->collective, slot->ticket);
    slot->ticket = NO_TICKET;
}

/* Have the parameters of a layer, and begin to gather those of the next one. */
static float *gathered(struct zero *z, int layer)
{
    struct slot *slot = slot_of(z, layer);
    settle(z, slot);
    if (slot->layer != layer)
        collective_run(z->collective, gathering(z, slot, layer));
    slot->layer = layer;
    const int next = layer + z->step;
    if (!z->plan.prefetches || next < 0 || next >= z->model->layers)
        return slot->whole;
    struct slot *ahead = slot_of(z, next);
    if (ahead->layer != next) {
        settle(z, ahead);
        ahead->layer = next;
        ahead->ticket = collective_start(z->collective, gathering(z, ahead, next));
    }
    return slot->whole;
}

/* An update may have changed the parameters since they were gathered. */
static void forget_gathered(struct zero *z)
{
    for (int i = 0; i < SLOTS; i++) {
        settle(z, &z->slot[i]);
        z->slot[i].layer = NO_LAYER;
    }
}

static void before_layer(void *argument, int layer)
{
    struct zero *z = argument;
    struct model_layer *l = &z->model->layer[layer];
    l->parameters = has_all_parameters(z) ? z->parameters + whole_at(z, layer) : gathered(z, layer);
    l->gradients = has_all_gradients(z) ? z->gradients + whole_at(z, layer) : z->whole_gradients;
}

/* Add up a layer's gradients over the ranks, each its part. */
static void scatter_gradients(void *argument, int layer)
{
    struct zero *z = argument;
    const size_t count = z->model->layer[layer].count, size = part_of(z, layer);
    float *whole = z->model->layer[layer].gradients;
    device_fill(whole + count, 0, z->ranks * size - count);
    collective_run(z->collective, in_group(z->group, reduce_scatter(TYPE_F32, whole, own_gradients(z, layer), size)));
}

/* --- opening ------------------------------------------------------------------------------------------------------- */

/* Sizes in floats: of this rank's parts of all layers, and of the largest layer with all its parts. */
struct sizes {
    size_t own, largest;
};

static struct sizes sizes_of(const struct workload *workload, size_t ranks)
{
    struct sizes sizes = { 0 };
    for (int layer = 0; layer < workload_layers(workload); layer++) {
        const size_t part = part_size(workload_layer_parameters(workload, layer), ranks);
        sizes.own += part;
        sizes.largest = ranks * part > sizes.largest ? ranks * part : sizes.largest;
    }
    return sizes;
}

struct zero *zero_open(const struct workload *workload, uint64_t seed, struct batch_most most, struct zero_plan plan,
                       struct collective *collective, const struct group *group)
{
    struct zero *z = memory_new(1, sizeof *z);
    *z = (struct zero){ .plan = plan, .collective = collective, .group = group };
    z->ranks = plan.stage > 0 ? (size_t)group_size(group) : 1; /* stage 0: one part */
    z->model = model_open_in_shards(workload, seed, most);
    z->part = memory_new((size_t)z->model->layers + 1, sizeof *z->part);
    for (int layer = 0; layer < z->model->layers; layer++)
        z->part[layer + 1] = z->part[layer] + part_size(z->model->layer[layer].count, z->ranks);
    const struct sizes sizes = sizes_of(workload, z->ranks);
    z->parameters = device_new(MEMORY_PARAMETERS, parameters_held(z), sizeof(float));
    z->gradients = device_new(MEMORY_GRADIENTS, gradients_held(z), sizeof(float));
    if (!has_all_gradients(z))
        z->whole_gradients = device_new(MEMORY_COMMUNICATION, sizes.largest, sizeof(float));
    for (int i = 0; i < SLOTS; i++) {
        z->slot[i].ticket = NO_TICKET;
        if (plan.stage == 3 && (i == 0 || plan.prefetches))
            z->slot[i].whole = device_new(MEMORY_COMMUNICATION, sizes.largest, sizeof(float));
    }
    z->optimizer =
        adamw_open_shard(workload_costs(workload), sizes.own, z->model->count, workload_learning_rate(workload));
    model_hook(z->model, (struct model_hooks){ z, before_layer, plan.stage > 0 ? scatter_gradients : NULL });
    zero_restart(z);
    return z;
}

void zero_close(struct zero *z)
{
    for (int i = 0; i < SLOTS; i++) {
        settle(z, &z->slot[i]);
        device_free(z->slot[i].whole);
    }
    adamw_close(z->optimizer);
    model_close(z->model);
    device_free(z->parameters);
    device_free(z->gradients);
    device_free(z->whole_gradients);
    free(z->part);
    free(z);
}

struct memory_estimate zero_memory(const struct workload *workload, struct batch_most most, struct zero_plan plan,
                                   int ranks)
{
    struct memory_estimate memory = model_memory(workload, most);
    const size_t parts = plan.stage > 0 ? (size_t)ranks : 1;
    const struct sizes sizes = sizes_of(workload, parts);
    const double own = (double)sizes.own * sizeof(float), all = (double)parts * own,
                 largest = (double)sizes.largest * sizeof(float);
    memory.of[MEMORY_PARAMETERS] = plan.stage < 3 ? all : own;
    memory.of[MEMORY_GRADIENTS] = plan.stage < 2 ? all : own;
    memory.of[MEMORY_MOMENTS] = 2 * own;
    memory.of[MEMORY_COMMUNICATION] = plan.stage < 2   ? 0
                                      : plan.stage < 3 ? largest
                                                       : (plan.prefetches ? 3 : 2) * largest;
    return memory;
}

double zero_received(const struct workload *workload, struct zero_plan plan, int ranks, enum collective_kind kind)
{
    const int layers = workload_layers(workload), kept = plan.prefetches ? SLOTS : 1;
    double own = 0, again = 0; /* floats of this rank's parts; of those that backward gathers again */
    for (int layer = 0; layer < layers; layer++) {
        const double part = (double)part_size(workload_layer_parameters(workload, layer), (size_t)ranks);
        own += part;
        again += layer < layers - kept ? part : 0; /* the last layers are there since forward */
    }
    if (kind == ALL_REDUCE)
        return plan.stage == 0 ? 2.0 * (ranks - 1) / ranks * (double)workload_parameters(workload) : 0;
    if (plan.stage == 0 || (kind != ALL_GATHER && kind != REDUCE_SCATTER))
        return 0;
    return (ranks - 1) * (own + (kind == ALL_GATHER && plan.stage == 3 ? again : 0));
}

/* --- training ------------------------------------------------------------------------------------------------------ */

/* Draw a layer's parameters; keep those from `begin` to `end` at `to`. Every rank draws all of them, in pieces. */
static void draw_layer(struct weights *weights, size_t count, size_t begin, size_t end, float *to)
{
    enum { PIECE = 8192 };
    float piece[PIECE];
    for (size_t at = 0, drawn; at < count; at += drawn) {
        drawn = count - at < PIECE ? count - at : PIECE;
        weights_next(weights, piece, drawn);
        const size_t from = at > begin ? at : begin, until = at + drawn < end ? at + drawn : end;
        if (from < until)
            device_put(to + from - begin, piece + from - at, (until - from) * sizeof *piece);
    }
}

void zero_restart(struct zero *z)
{
    struct weights weights = model_weights(z->model);
    model_restart(z->model);
    adamw_restart(z->optimizer);
    forget_gathered(z);
    device_fill(z->parameters, 0, parameters_held(z));
    device_fill(z->gradients, NAN, gradients_held(z));
    for (int layer = 0; layer < z->model->layers && device_computes(); layer++) {
        const size_t count = z->model->layer[layer].count, size = part_of(z, layer);
        const size_t begin = has_all_parameters(z) ? 0 : (size_t)group_rank(z->group) * size,
                     end = has_all_parameters(z) || begin + size > count ? count : begin + size;
        draw_layer(&weights, count, begin, end,
                   z->parameters + (has_all_parameters(z) ? whole_at(z, layer) : z->part[layer]));
    }
}

void zero_forward(struct zero *z, const struct batch *batch)
{
    forget_gathered(z);
    z->step = 1;
    model_forward(z->model, batch);
}

void zero_backward(struct zero *z, const struct batch *batch)
{
    z->step = -1;
    model_backward(z->model, batch);
    if (z->plan.stage == 0)
        collective_run(z->collective,
                       in_group(z->group, all_reduce(TYPE_F32, z->gradients, z->gradients, z->model->count)));
}

/* Update this rank's part of each layer, then gather all parts. */
static void update_parts(struct zero *z)
{
    adamw_begin(z->optimizer);
    for (int layer = 0; layer < z->model->layers; layer++) {
        float *own = z->parameters + own_at(z, layer);
        adamw_update_part(z->optimizer, z->part[layer], part_of(z, layer), own, own_gradients(z, layer));
        collective_run(z->collective, in_group(z->group, all_gather(TYPE_F32, own, z->parameters + whole_at(z, layer),
                                                                    part_of(z, layer))));
    }
}

void zero_update(struct zero *z)
{
    if (z->plan.stage == 1 || z->plan.stage == 2)
        update_parts(z);
    else
        adamw_update(z->optimizer, z->parameters, z->gradients);
    forget_gathered(z);
}

double zero_loss(const struct zero *z, int passes)
{
    return model_loss(z->model, passes);
}

void zero_gather(struct zero *z, float *out)
{
    z->step = 1;
    for (int layer = 0; layer < z->model->layers; layer++) {
        before_layer(z, layer);
        device_copy(out + z->model->layer[layer].first, z->model->layer[layer].parameters,
                    z->model->layer[layer].count);
    }
    forget_gathered(z);
}
