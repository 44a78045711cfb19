#include "collective/zero.h"

#include "base/memory.h"
#include "device/device.h"
#include "device/pool.h"
#include "model/adamw.h"
#include "world/world.h"

#include <math.h>
#include <stdlib.h>

enum { NO_LAYER = -1, NO_TICKET = -1 };

struct zero {
    struct zero_plan plan;
    struct model *model;
    struct collective *collective;
    const struct group *group;
    size_t ranks, rank;
    size_t *part; /* (layers + 1) where this rank's part of a layer begins in an array of its parts */
    /* Stages 0 to 2 have all parameters, 0 and 1 all gradients: of each layer, the ranks' parts one after another. Else this rank's
     * parts. */
    float *parameters, *gradients;
    struct adamw *optimizer;
    struct pool *pool;  /* of whole layers, */
    size_t whole_bytes; /* each as large as the largest with all its parts */
    bool is_backward;
    /* Stage 3: layers that are gathered, layer l in slot l % slots. */
    int slots;
    int *held; /* (slots) layer; NO_LAYER: none */
    struct gathered {
        float *whole; /* of the pool; NULL: none yet */
        int ticket;   /* of the all-gather that brings it; NO_TICKET: it is there */
    } * slot;         /* (slots) */
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
    return whole_at(z, layer) + z->rank * part_of(z, layer);
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

/* Return this rank's part of a layer's parameters. */
static float *own_parameters(const struct zero *z, int layer)
{
    return z->parameters + (has_all_parameters(z) ? own_at(z, layer) : z->part[layer]);
}

/* Return the sum of this rank's part of a layer's gradients. */
static float *own_gradients(const struct zero *z, int layer)
{
    return z->gradients + (has_all_gradients(z) ? own_at(z, layer) : z->part[layer]);
}

/* --- layers while they are used ----------------------------------------------------------------------------------- */

/* Number of layers that are gathered at a time. */
static int slots_of(struct zero_plan plan, int layers)
{
    return plan.stage < 3 ? 0 : plan.ahead + 1 < layers ? plan.ahead + 1 : layers;
}

/* List the layers to be gathered now that a pass is at `layer`, and `step` (1 or -1) leads to the next one: this one and those ahead,
 * unless held (slots) has them. Note them there. */
static int list_missing(int *held, int slots, int layers, int layer, int step, int missing[LAYERS_MOST])
{
    int count = 0;
    for (int i = 0; i < slots; i++) {
        const int wanted = layer + i * step;
        if (wanted < 0 || wanted >= layers || held[wanted % slots] == wanted)
            continue;
        held[wanted % slots] = wanted;
        missing[count++] = wanted;
    }
    return count;
}

/* Wait for the parameters that a slot is being filled with. */
static void settle(struct zero *z, struct gathered *slot)
{
    if (slot->ticket != NO_TICKET)
        collective_finish(z->collective, slot->ticket);
    slot->ticket = NO_TICKET;
}

/* Gather a layer, at once if a pass needs it now. */
static void gather(struct zero *z, int layer, bool is_now)
{
    struct gathered *slot = &z->slot[layer % z->slots];
    settle(z, slot);
    if (!slot->whole)
        slot->whole = pool_take(z->pool, z->whole_bytes, MEMORY_COMMUNICATION);
    const struct collective_op op =
        in_group(z->group, all_gather(TYPE_F32, own_parameters(z, layer), slot->whole, part_of(z, layer)));
    if (is_now)
        collective_run(z->collective, op);
    else
        slot->ticket = collective_start(z->collective, op);
}

/* Return the gathered parameters of a layer, and begin to gather the next ones. A recomputed forward does not look ahead: backward
 * follows. */
static float *gathered(struct zero *z, int layer)
{
    const int step = z->is_backward && !z->model->computes_again ? -1 : 1;
    struct gathered *slot = &z->slot[layer % z->slots];
    int missing[LAYERS_MOST];
    const int count =
        list_missing(z->held, z->slots, z->model->computes_again ? layer + 1 : z->model->layers, layer, step, missing);
    for (int i = 0; i < count; i++)
        gather(z, missing[i], missing[i] == layer);
    settle(z, slot);
    return slot->whole;
}

/* An update may have changed the parameters since they were gathered. */
static void forget_gathered(struct zero *z)
{
    for (int i = 0; i < z->slots; i++) {
        settle(z, &z->slot[i]);
        pool_give(z->pool, z->whole_bytes, z->slot[i].whole);
        z->slot[i].whole = NULL;
        z->held[i] = NO_LAYER;
    }
}

static void before_layer(void *argument, int layer)
{
    struct zero *z = argument;
    struct model_layer *l = &z->model->layer[layer];
    const bool computes_gradients = z->is_backward && !z->model->computes_again;
    l->parameters = has_all_parameters(z) ? z->parameters + whole_at(z, layer) : gathered(z, layer);
    if (has_all_gradients(z))
        l->gradients = z->gradients + whole_at(z, layer);
    else if (computes_gradients)
        l->gradients = pool_take(z->pool, z->whole_bytes, MEMORY_COMMUNICATION);
}

/* Give back a layer's whole gradients. This rank has its part of their sum. */
static void drop_gradients(struct zero *z, int layer)
{
    if (has_all_gradients(z))
        return;
    pool_give(z->pool, z->whole_bytes, z->model->layer[layer].gradients);
    z->model->layer[layer].gradients = NULL;
}

/* Add up a layer's gradients over the ranks, each its part. */
static void scatter_gradients(void *argument, int layer)
{
    struct zero *z = argument;
    const size_t count = z->model->layer[layer].count, size = part_of(z, layer);
    float *whole = z->model->layer[layer].gradients;
    device_fill(whole + count, 0, z->ranks * size - count);
    collective_run(z->collective, in_group(z->group, reduce_scatter(TYPE_F32, whole, own_gradients(z, layer), size)));
    if (!z->plan.keeps_gradients)
        drop_gradients(z, layer);
}

/* --- opening ------------------------------------------------------------------------------------------------------- */

/* Number of whole layers in use at a time. */
static int pieces_of(struct zero_plan plan, int layers)
{
    return (plan.stage < 2 ? 0 : plan.keeps_gradients ? layers : 1) + slots_of(plan, layers);
}

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

/* Set the parameters to those of model_restart(), and reset the optimizer. */
static void restart(struct zero *z)
{
    struct weights weights = model_weights(z->model);
    model_restart(z->model);
    adamw_restart(z->optimizer);
    forget_gathered(z);
    device_fill(z->parameters, 0, parameters_held(z));
    device_fill(z->gradients, NAN, gradients_held(z));
    device_wait(); /* device_put() does not wait for what fills */
    for (int layer = 0; layer < z->model->layers && device_computes(); layer++) {
        const size_t count = z->model->layer[layer].count, size = part_of(z, layer);
        const size_t begin = has_all_parameters(z) ? 0 : z->rank * size,
                     end = has_all_parameters(z) || begin + size > count ? count : begin + size;
        draw_layer(&weights, count, begin, end,
                   z->parameters + (has_all_parameters(z) ? whole_at(z, layer) : z->part[layer]));
    }
}

struct zero *zero_open(const struct workload *workload, uint64_t seed, struct batch_most most, struct zero_plan plan,
                       struct collective *collective, const struct group *group)
{
    struct zero *z = memory_new(1, sizeof *z);
    *z = (struct zero){ .plan = plan, .collective = collective, .group = group, .ranks = 1, .pool = pool_open() };
    if (plan.stage > 0) { /* else all is one part */
        z->ranks = (size_t)(group ? group_size(group) : world_size(collective_world(collective)));
        z->rank = (size_t)(group ? group_rank(group) : world_rank(collective_world(collective)));
    }
    z->model = model_open_in_shards(workload, seed, most);
    z->part = memory_new((size_t)z->model->layers + 1, sizeof *z->part);
    for (int layer = 0; layer < z->model->layers; layer++)
        z->part[layer + 1] = z->part[layer] + part_size(z->model->layer[layer].count, z->ranks);
    const struct sizes sizes = sizes_of(workload, z->ranks);
    z->parameters = device_new(MEMORY_PARAMETERS, parameters_held(z), sizeof(float));
    z->gradients = device_new(MEMORY_GRADIENTS, gradients_held(z), sizeof(float));
    z->whole_bytes = sizes.largest * sizeof(float);
    pool_reserve(z->pool, z->whole_bytes, pieces_of(plan, z->model->layers));
    z->slots = slots_of(plan, z->model->layers);
    z->slot = memory_new((size_t)z->slots + 1, sizeof *z->slot); /* at least one */
    z->held = memory_new((size_t)z->slots + 1, sizeof *z->held);
    for (int i = 0; i < z->slots; i++)
        z->slot[i].ticket = NO_TICKET;
    const double rate = workload_learning_rate(workload);
    z->optimizer = plan.offload ? adamw_open_offloaded(workload_costs(workload), sizes.own, z->model->count, rate,
                                                       plan.offload, sizes.largest / z->ranks)
                                : adamw_open_shard(workload_costs(workload), sizes.own, z->model->count, rate);
    model_hook(z->model, (struct model_hooks){ z, before_layer, plan.stage > 0 ? scatter_gradients : NULL });
    restart(z);
    return z;
}

void zero_close(struct zero *z)
{
    forget_gathered(z);
    for (int layer = 0; layer < z->model->layers; layer++)
        drop_gradients(z, layer);
    pool_close(z->pool);
    free(z->slot);
    free(z->held);
    adamw_close(z->optimizer);
    model_close(z->model);
    device_free(z->parameters);
    device_free(z->gradients);
    free(z->part);
    free(z);
}

struct memory_estimate zero_share(struct memory_estimate whole, int stage, int ranks)
{
    static const enum memory_owner divided[] = { MEMORY_MOMENTS, MEMORY_GRADIENTS,
                                                 MEMORY_PARAMETERS }; /* from stage 1, 2, 3 on */
    for (int i = 0; i < stage; i++)
        whole.of[divided[i]] /= ranks;
    return whole;
}

struct memory_estimate zero_memory(const struct workload *workload, struct batch_most most, struct zero_plan plan,
                                   int ranks)
{
    struct memory_estimate memory = model_memory(workload, most);
    const int parts = plan.stage > 0 ? ranks : 1;
    const struct sizes sizes = sizes_of(workload, (size_t)parts);
    memory.of[MEMORY_PARAMETERS] = memory.of[MEMORY_GRADIENTS] = (double)parts * (double)sizes.own * sizeof(float);
    memory.of[MEMORY_MOMENTS] = 2 * memory.of[MEMORY_PARAMETERS];
    memory.of[MEMORY_COMMUNICATION] =
        pieces_of(plan, workload_layers(workload)) * (double)sizes.largest * sizeof(float);
    memory = zero_share(memory, plan.stage, parts);
    if (plan.offload)
        memory.of[MEMORY_MOMENTS] = 2 * (double)sizes.largest / parts * sizeof(float);
    return memory;
}

/* --- the collectives of a step -------------------------------------------------------------------------------------- */

/* A list that is only counted if `at` is NULL. */
struct calls {
    struct zero_call *at;
    int count;
};

static void add_call(struct calls *calls, struct zero_call call)
{
    if (calls->at)
        calls->at[calls->count] = call;
    calls->count++;
}

static size_t layer_part(const struct workload *workload, int layer, int ranks)
{
    return part_size(workload_layer_parameters(workload, layer), (size_t)ranks);
}

/* A pass is at a layer: add what is gathered now. */
static void add_gathers(struct calls *calls, const struct workload *workload, int ranks, struct zero_call at, int *held,
                        int slots, int layers, int step)
{
    int missing[LAYERS_MOST];
    const int count = list_missing(held, slots, layers, at.layer, step, missing);
    for (int i = 0; i < count; i++) {
        at.is_ahead = missing[i] != at.layer;
        at.count = layer_part(workload, missing[i], ranks);
        add_call(calls, at);
    }
}

/* Add the all-gathers of stage 3, and the reduce-scatters, in their order. */
static void add_passes(struct calls *calls, const struct workload *workload, struct zero_plan plan, int ranks)
{
    const int layers = workload_layers(workload), slots = slots_of(plan, layers);
    int held[LAYERS_MOST];
    for (int i = 0; i < slots; i++)
        held[i] = NO_LAYER;
    struct zero_call call = { .kind = ALL_GATHER, .pass = WORK_FORWARD };
    for (call.layer = 0; call.layer < layers; call.layer++)
        add_gathers(calls, workload, ranks, call, held, slots, layers, 1);
    for (int layer = layers - 1; layer >= 0; layer--) {
        call = (struct zero_call){ .kind = ALL_GATHER, .pass = WORK_FORWARD };
        for (call.layer = workload_again_from(workload, layer); call.layer <= layer; call.layer++)
            add_gathers(calls, workload, ranks, call, held, slots, call.layer + 1, 1);
        call = (struct zero_call){ .kind = ALL_GATHER, .pass = WORK_BACKWARD, .layer = layer };
        add_gathers(calls, workload, ranks, call, held, slots, layers, -1);
        call.kind = REDUCE_SCATTER;
        call.count = layer_part(workload, layer, ranks);
        add_call(calls, call);
    }
}

int zero_calls(const struct workload *workload, struct zero_plan plan, int ranks, struct zero_call *list)
{
    struct calls calls = { .at = list };
    if (plan.stage == 0)
        add_call(&calls,
                 (struct zero_call){
                     .kind = ALL_REDUCE, .pass = WORK_BACKWARD, .layer = 0, .count = workload_parameters(workload) });
    else
        add_passes(&calls, workload, plan, ranks);
    for (int layer = 0; layer < workload_layers(workload) && (plan.stage == 1 || plan.stage == 2); layer++)
        add_call(&calls, (struct zero_call){ .kind = ALL_GATHER,
                                             .pass = WORK_UPDATE,
                                             .layer = layer,
                                             .count = layer_part(workload, layer, ranks) });
    return calls.count;
}

/* --- training ------------------------------------------------------------------------------------------------------ */

void zero_forward(struct zero *z, const struct batch *batch)
{
    forget_gathered(z);
    z->is_backward = false;
    model_forward(z->model, batch);
}

void zero_backward(struct zero *z, const struct batch *batch)
{
    z->is_backward = true;
    model_backward(z->model, batch);
    if (z->plan.stage == 0)
        collective_run(z->collective,
                       in_group(z->group, all_reduce(TYPE_F32, z->gradients, z->gradients, z->model->count)));
}

static bool gathers_updates(const struct zero *z)
{
    return z->plan.stage == 1 || z->plan.stage == 2;
}

/* Update this rank's part of each layer, then gather all parts. */
static void update_parts(struct zero *z)
{
    adamw_begin(z->optimizer);
    for (int layer = 0; layer < z->model->layers; layer++) {
        float *own = own_parameters(z, layer);
        adamw_update_part(z->optimizer, z->part[layer], part_of(z, layer), own, own_gradients(z, layer));
        if (gathers_updates(z))
            collective_run(
                z->collective,
                in_group(z->group, all_gather(TYPE_F32, own, z->parameters + whole_at(z, layer), part_of(z, layer))));
    }
}

void zero_update(struct zero *z)
{
    if (gathers_updates(z) || z->plan.offload)
        update_parts(z);
    else
        adamw_update(z->optimizer, z->parameters, z->gradients);
    forget_gathered(z);
    for (int layer = 0; layer < z->model->layers; layer++)
        drop_gradients(z, layer);
}

const struct model *zero_model(const struct zero *z)
{
    return z->model;
}

void zero_gather(struct zero *z, float *out)
{
    z->is_backward = false;
    for (int layer = 0; layer < z->model->layers; layer++) {
        before_layer(z, layer);
        device_copy(out + z->model->layer[layer].first, z->model->layer[layer].parameters,
                    z->model->layer[layer].count);
    }
    forget_gathered(z);
}
