/* 10_memory_calculator: what a rank holds, and how long a step takes, from sizes and three speeds alone: for models that are too large for
 * this machine. Table calculator.csv has both for the cases that this lab measures, so that the calculator's error is known.
 *
 *     memory = parameters, gradients, moments of a rank's stage + buffers for whole layers + activations + outputs
 *     step   = operations / speed + bytes / link + the update's bytes / memory's bandwidth
 *
 * Stage 3 gathers one layer at a time. Attention stores no scores. A language model's outputs: as activations, and as floats with their
 * gradient. Backward has twice forward's operations. A rank's batch is cut into micro-batches, whose gradients are added up; stages 2 and
 * 3 send for each of them. Nothing is hidden, and data takes no time. */
#include "10_memory.h"

#include <math.h>

struct memory_estimate mixed_precision(double parameters)
{
    return (struct memory_estimate){ .of = { [MEMORY_PARAMETERS] = 2 * parameters,
                                             [MEMORY_GRADIENTS] = 2 * parameters,
                                             [MEMORY_MOMENTS] = 12 * parameters } };
}

struct calculated calculated_shape(const struct known_shape *shape)
{
    const double embedding = shape->vocabulary * shape->width, block = known_shape_block(shape);
    const double parameters = known_shape_parameters(shape);
    return (struct calculated){ .shape = *shape,
                                .parameters = parameters,
                                .whole = mixed_precision(parameters),
                                .largest = fmax(block, embedding),
                                .bytes = 2,
                                .outputs = shape->vocabulary };
}

/* The model of this lab, in floats. It classifies texts, so its outputs are few. */
static struct calculated own_model(const struct workload *workload)
{
    const struct transformer_settings *of = &workload->of.transformer;
    const struct known_shape shape = { .layers = of->num_blocks,
                                       .width = of->hidden_dim,
                                       .heads = of->num_heads,
                                       .shared_heads = of->num_heads,
                                       .inner = 2 * of->hidden_dim,
                                       .vocabulary = of->vocab_size,
                                       .is_tied = true,
                                       .has_biases = true,
                                       .has_qkv_biases = true };
    struct calculated model = calculated_shape(&shape);
    const struct memory_estimate trained =
        zero_memory(workload, loader_most(workload, 1), (struct zero_plan){ .stage = 0 }, 1);
    model.parameters = (double)workload_parameters(workload);
    for (int owner = 0; owner < MEMORY_OWNERS; owner++)
        model.whole.of[owner] = model.whole.of[owner] > 0 ? trained.of[owner] : 0;
    model.bytes = sizeof(float);
    model.outputs = 0;
    return model;
}

/* --- memory ---------------------------------------------------------------------------------------------------------- */

/* Runs of blocks: one input is kept of each, and backward of all but the last begins with forward again. */
struct block_runs {
    double length, count; /* blocks of each but the last; runs */
};

static struct block_runs block_runs(const struct calculated *model, const struct plan *plan)
{
    const double layers = model->shape.layers,
                 length = plan->recompute.every > 0 ? fmin(plan->recompute.every, layers) : layers;
    return (struct block_runs){ .length = length, .count = ceil(layers / length) };
}

/* Return the bytes of activations that blocks keep for a token: at most when backward begins, or when it has computed the run before the
 * last again. */
static double kept_bytes(const struct calculated *model, const struct plan *plan)
{
    const struct block_runs runs = block_runs(model, plan);
    const double layers = model->shape.layers, last = layers - (runs.count - 1) * runs.length, each = model->bytes / 2,
                 input = 2 * model->shape.width, block = known_shape_token_bytes(&model->shape);
    const double begin = last * block + (runs.count - 1) * input,
                 before = runs.count > 1 ? runs.length * block + (runs.count - 2) * input : 0,
                 attention =
                     plan->recompute.attention_only ? (layers - 1) * known_shape_attention_bytes(&model->shape) : 0;
    return each * (fmax(begin, before) - attention);
}

struct memory_estimate calculated_memory(const struct calculated *model, const struct plan *plan)
{
    const double tokens = (double)plan->micro * plan->length, each = model->bytes / 2,
                 buffers = plan->stage < 2 || plan->ranks == 1 ? 0
                           : plan->stage < 3                   ? 1
                                                               : 2,
                 embedded = 2 * model->shape.width, way = known_shape_way_bytes(&model->shape);
    struct memory_estimate memory = zero_share(model->whole, plan->stage, plan->ranks);
    memory.of[MEMORY_COMMUNICATION] = buffers * model->bytes * model->largest;
    memory.of[MEMORY_ACTIVATIONS] =
        tokens * (kept_bytes(model, plan) + each * (embedded + way) + model->outputs * (model->bytes + 4 + 4));
    return memory;
}

double calculated_bytes(const struct calculated *model, const struct plan *plan)
{
    const struct memory_estimate memory = calculated_memory(model, plan);
    return memory_estimate_sum(&memory);
}

/* --- time ------------------------------------------------------------------------------------------------------------ */

/* Return the operations of backward that forward had done already, for a token. */
static double again(const struct calculated *model, const struct plan *plan)
{
    const struct block_runs runs = block_runs(model, plan);
    return plan->recompute.attention_only
               ? (model->shape.layers - 1) * known_shape_attention_flops(&model->shape, plan->length)
               : (runs.count - 1) * runs.length * known_shape_block_flops(&model->shape, plan->length);
}

double calculated_seconds(const struct calculated *model, const struct plan *plan, const struct speeds *speeds)
{
    const double micro_batches = ceil((double)plan->batch / plan->micro), parts = plan->stage > 0 ? plan->ranks : 1,
                 forward = model->shape.layers * known_shape_block_flops(&model->shape, plan->length) +
                           2 * model->outputs * model->shape.width,
                 operations = (double)plan->batch * plan->length * (3 * forward + again(model, plan)),
                 rounds = plan->stage < 2   ? 2
                          : plan->stage < 3 ? micro_batches + 1
                                            : 3 * micro_batches,
                 sent = rounds * model->bytes * model->parameters * (plan->ranks - 1) / plan->ranks,
                 updated = UPDATE_BYTES * model->parameters / parts;
    return operations / speeds->flops + sent / speeds->link + updated / speeds->memory;
}

/* --- speeds ---------------------------------------------------------------------------------------------------------- */

/* Return bus bandwidth in the largest all-reduce of a card's file. */
static double largest_bandwidth(const struct csv_table *card)
{
    double most = 0, bandwidth = 0;
    for (int row = 0; row < card->rows; row++) {
        const double bytes = csv_value(card, row, "bytes"), ranks = csv_value(card, row, "ranks");
        if (strcmp(csv_field(card, row, "quantity"), "allreduce_s") != 0 || !(bytes > most))
            continue;
        most = bytes;
        bandwidth = allreduce_bus_bandwidth(ranks, bytes, csv_value(card, row, "value"));
    }
    return bandwidth;
}

static double own_value(const struct csv_table *card, const char *name)
{
    const int row = csv_find(card, "quantity", name);
    return row < 0 ? (double)NAN : csv_value(card, row, "value");
}

bool speeds_of_run(const char *folder, struct speeds *speeds)
{
    char *path = memory_text("%s/card.csv", folder);
    struct csv_table card =
        csv_open_if_there(path, (const char *const[]){ "quantity", "ranks", "bytes", "value", NULL });
    *speeds = (struct speeds){ .flops = own_value(&card, "own_" LARGE_PRODUCT_COST),
                               .link = largest_bandwidth(&card),
                               .memory = own_value(&card, "own_" UPDATE_COST) };
    csv_free(&card);
    free(path);
    return speeds->flops > 0 && speeds->link > 0 && speeds->memory > 0;
}

/* --- calculator.csv -------------------------------------------------------------------------------------------------- */

static struct plan plan_of(const struct options *o)
{
    return (struct plan){ .ranks = o->run.ranks,
                          .stage = o->plan.stage,
                          .batch = o->run.batch_size,
                          .micro = o->run.batch_size,
                          .length = o->model.of.transformer.texts.fixed_length,
                          .recompute = o->model.of.transformer.recompute };
}

/* True if the calculator covers the case: not moments in a file, and no mistakes. */
static bool is_calculated(const struct options *o)
{
    return !o->leaks && !o->plan.keeps_gradients && !o->plan.offload && o->plan.ahead == 0;
}

void write_calculator(struct lab *lab, const struct options *base, struct csv *csv)
{
    const struct card *card = lab_card(lab);
    const struct calculated model = own_model(&base->model);
    const double bytes = workload_gradient_bytes(&base->model);
    const int ranks = base->run.ranks;
    const struct speeds speeds = {
        .flops = card_cost(card, LARGE_PRODUCT_COST),
        .link = ranks > 1 ? allreduce_bus_bandwidth(ranks, bytes, card_allreduce(card, ranks, bytes)) : INFINITY,
        .memory = card_cost(card, UPDATE_COST)
    };
    const char *name;
    const struct options *o;
    for (int i = 0; csv && (o = lab_case(lab, i, &name)); i++) {
        const struct plan plan = plan_of(o);
        if (!is_calculated(o))
            continue;
        do {
            csv_text(csv, "case", name);
            csv_number(csv, "calculated_mb", calculated_bytes(&model, &plan) / 1e6);
            csv_ms(csv, "calculated_ms", calculated_seconds(&model, &plan, &speeds));
        } while (csv_end_row(csv));
    }
}
