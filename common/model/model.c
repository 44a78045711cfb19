#include "model/model.h"

#include "base/memory.h"
#include "device/device.h"
#include "model/model_type.h"

#include <math.h>
#include <stdlib.h>

/* List the layers and their initial parameters. */
static void list_layers(struct model *m)
{
    m->layers = workload_layers(&m->workload);
    m->layer = memory_new((size_t)m->layers, sizeof *m->layer);
    m->initial = memory_new((size_t)m->layers, sizeof *m->initial);
    for (int i = 0; i < m->layers; i++) {
        m->workload.type->parameters(&m->workload.of, i, &m->initial[i]);
        m->layer[i] = (struct model_layer){ .first = m->count, .count = weights_count(&m->initial[i]) };
        m->count += m->layer[i].count;
    }
}

struct model *model_open_in_shards(const struct workload *workload, uint64_t seed, struct batch_most most)
{
    struct model *m = memory_new(1, sizeof *m);
    *m = (struct model){ .workload = *workload, .seed = seed, .frozen = -1 };
    list_layers(m);
    losses_open(&m->losses);
    m->state = workload->type->open(&workload->of, most);
    return m;
}

struct model *model_open(const struct workload *workload, uint64_t seed, struct batch_most most)
{
    struct model *m = model_open_in_shards(workload, seed, most);
    m->parameters = device_new(MEMORY_PARAMETERS, m->count, sizeof *m->parameters);
    m->gradients = device_new(MEMORY_GRADIENTS, m->count, sizeof *m->gradients);
    for (int i = 0; i < m->layers; i++) {
        m->layer[i].parameters = m->parameters + m->layer[i].first;
        m->layer[i].gradients = m->gradients + m->layer[i].first;
    }
    model_restart(m);
    return m;
}

void model_close(struct model *m)
{
    m->workload.type->close(m->state);
    losses_close(&m->losses);
    device_free(m->parameters);
    device_free(m->gradients);
    device_free(m->unwanted);
    free(m->layer);
    free(m->initial);
    free(m);
}

struct memory_estimate model_memory(const struct workload *workload, struct batch_most most)
{
    struct memory_estimate memory = workload->type->memory(&workload->of, most);
    memory.of[MEMORY_PARAMETERS] = memory.of[MEMORY_GRADIENTS] = workload_gradient_bytes(workload);
    return memory;
}

struct weights model_weights(const struct model *m)
{
    return weights_of(m->initial, m->layers, m->seed);
}

void model_restart(struct model *m)
{
    losses_restart(&m->losses);
    if (!m->parameters)
        return;
    const struct weights weights = model_weights(m);
    weights_put(&weights, m->parameters);
    device_fill(m->gradients, NAN, m->count);
}

void model_hook(struct model *m, struct model_hooks hooks)
{
    m->hooks = hooks;
}

void model_freeze(struct model *m, int layer)
{
    size_t most = 0;
    for (int i = 0; i < m->layers; i++)
        most = m->layer[i].count > most ? m->layer[i].count : most;
    if (m->frozen >= 0)
        m->layer[m->frozen].gradients = m->gradients + m->layer[m->frozen].first;
    if (layer >= 0 && !m->unwanted)
        m->unwanted = device_new(MEMORY_GRADIENTS, most, sizeof *m->unwanted);
    if (layer >= 0)
        m->layer[layer].gradients = m->unwanted;
    m->frozen = layer;
}

/* True if a simulated machine spends a pass layer by layer. */
static bool is_by_layer(const struct model *m, enum work_pass pass)
{
    bool is_announced = m->workload.type->charges_layers || m->hooks.gradients_ready;
    return m->hooks.before_layer || (pass == WORK_BACKWARD && is_announced);
}

/* Let a simulated machine spend a layer's pass; or the whole pass at its first layer, which is one event instead of many. What a layer's
 * backward computes again is a part of forward. */
static void charge(const struct model *m, const struct batch *batch, int layer, enum work_pass pass, bool is_by_layer)
{
    const struct model_type *type = m->workload.type;
    const int first = pass == WORK_FORWARD ? 0 : m->layers - 1;
    double all = 0, mine = 0, forward = 0, again = 0;
    if (device_computes() || (!is_by_layer && layer != first))
        return;
    const struct work work = batch_work(batch);
    for (int i = 0; i < m->layers; i++) {
        const bool is_spent = i == layer || !is_by_layer;
        all += type->flops(&m->workload.of, work, i, pass);
        mine += is_spent ? type->flops(&m->workload.of, work, i, pass) : 0;
        forward += type->flops(&m->workload.of, work, i, WORK_FORWARD);
        again += is_spent && type->flops_again ? type->flops_again(&m->workload.of, work, i) : 0;
    }
    device_charge(type->costs, pass, work, mine / all);
    if (pass == WORK_BACKWARD && again > 0)
        device_charge(type->costs, WORK_FORWARD, work, again / forward);
}

static void forward_layer(struct model *m, const struct batch *batch, int layer, bool is_by_layer)
{
    ledger_layer(layer);
    if (m->hooks.before_layer)
        m->hooks.before_layer(m->hooks.argument, layer);
    charge(m, batch, layer, WORK_FORWARD, is_by_layer);
    m->workload.type->forward(m, batch, layer);
}

/* Compute the activations again that backward of a layer needs and forward did not keep. */
static void compute_again(struct model *m, const struct batch *batch, int layer)
{
    m->computes_again = true;
    for (int again = workload_again_from(&m->workload, layer); again <= layer; again++)
        forward_layer(m, batch, again, true);
    m->computes_again = false;
}

void model_forward(struct model *m, const struct batch *batch)
{
    device_draw_jitter(m->workload.type->costs);
    for (int layer = 0; layer < m->layers; layer++)
        forward_layer(m, batch, layer, is_by_layer(m, WORK_FORWARD));
    ledger_layer(-1);
}

void model_backward(struct model *m, const struct batch *batch)
{
    for (int layer = m->layers; layer-- > 0;) {
        compute_again(m, batch, layer);
        ledger_layer(layer);
        if (m->hooks.before_layer)
            m->hooks.before_layer(m->hooks.argument, layer);
        charge(m, batch, layer, WORK_BACKWARD, is_by_layer(m, WORK_BACKWARD));
        m->workload.type->backward(m, batch, layer);
        if (m->hooks.gradients_ready && layer != m->frozen)
            m->hooks.gradients_ready(m->hooks.argument, layer);
    }
    ledger_layer(-1);
}

double model_loss(const struct model *m, int passes)
{
    return losses_mean(&m->losses, m->losses.passes, passes);
}
