#include "model/transformer.h"

#include "base/die.h"
#include "base/memory.h"
#include "device/device.h"
#include "model/model_type.h"
#include "model/sequence_recipe.h"
#include "model/transformer_activations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int blocks(const union model_settings *settings)
{
    return settings->transformer.num_blocks;
}

static int layers(const union model_settings *settings)
{
    return blocks(settings) + 2;
}

static char *name(const union model_settings *settings)
{
    const struct transformer_settings *of = &settings->transformer;
    char *stack = of->num_blocks == 1 ? memory_text("%s", "") : memory_text(" x %d blocks", of->num_blocks);
    char *text = memory_text("transformer %d x %d%s, %d heads, %d classes, texts to %d", of->vocab_size, of->hidden_dim,
                             stack, of->num_heads, of->num_classes, of->texts.max_length);
    free(stack);
    return text;
}

/* --- parameters --------------------------------------------------------------------------------------------------- */

static size_t group_size(const struct transformer_settings *of, enum transformer_group group)
{
    const size_t C = (size_t)of->hidden_dim, classes = (size_t)of->num_classes;
    const size_t size[TRANSFORMER_GROUPS] = {
        [EMBEDDING] = (size_t)of->vocab_size * C,
        [NORM1_WEIGHT] = C,
        [NORM1_BIAS] = C,
        [QKV_WEIGHT] = C * 3 * C,
        [QKV_BIAS] = 3 * C,
        [JOIN_WEIGHT] = C * C,
        [JOIN_BIAS] = C,
        [NORM2_WEIGHT] = C,
        [NORM2_BIAS] = C,
        [UP_WEIGHT] = C * 2 * C,
        [UP_BIAS] = 2 * C,
        [DOWN_WEIGHT] = 2 * C * C,
        [DOWN_BIAS] = C,
        [CLASS_WEIGHT] = C * classes,
        [CLASS_BIAS] = classes,
    };
    return size[group];
}

/* Return the inputs of a linear layer, for its weight and its bias; 0 for any other group. */
static int inputs_of(const struct transformer_settings *of, enum transformer_group group)
{
    if (group == DOWN_WEIGHT || group == DOWN_BIAS)
        return 2 * of->hidden_dim;
    bool is_linear = group >= QKV_WEIGHT && group != NORM2_WEIGHT && group != NORM2_BIAS;
    return is_linear ? of->hidden_dim : 0;
}

/* Return the rows of a matrix; 0 for a vector. */
static int rows_of_matrix(const struct transformer_settings *of, enum transformer_group group)
{
    bool is_bias =
        group == QKV_BIAS || group == JOIN_BIAS || group == UP_BIAS || group == DOWN_BIAS || group == CLASS_BIAS;
    return group == EMBEDDING ? of->vocab_size : is_bias ? 0 : inputs_of(of, group);
}

/* Return the first group of a layer. */
static enum transformer_group first_group(const struct transformer_settings *of, int layer)
{
    return layer == 0 ? EMBEDDING : layer <= of->num_blocks ? NORM1_WEIGHT : CLASS_WEIGHT;
}

static void parameters(const union model_settings *settings, int layer, struct weights_list *list)
{
    const struct transformer_settings *of = &settings->transformer;
    const enum transformer_group first = first_group(of, layer);
    const enum transformer_group next[] = {
        [EMBEDDING] = NORM1_WEIGHT, [NORM1_WEIGHT] = CLASS_WEIGHT, [CLASS_WEIGHT] = TRANSFORMER_GROUPS
    };
    for (enum transformer_group group = first; group < next[first]; group++) {
        int inputs = inputs_of(of, group);
        struct weights_part part = { .count = group_size(of, group), .rows = (size_t)rows_of_matrix(of, group) };
        part.kind = inputs > 0 ? WEIGHTS_UNIFORM : group == EMBEDDING ? WEIGHTS_NORMAL : WEIGHTS_ALIKE;
        part.value = inputs > 0 ? 1.0 / sqrt(inputs) : group == NORM1_WEIGHT || group == NORM2_WEIGHT;
        weights_add(list, part);
    }
}

size_t transformer_offset(const struct transformer_settings *of, enum transformer_group group)
{
    const enum transformer_group first = group >= CLASS_WEIGHT   ? CLASS_WEIGHT
                                         : group >= NORM1_WEIGHT ? NORM1_WEIGHT
                                                                 : EMBEDDING;
    size_t offset = 0;
    for (enum transformer_group before = first; before < group; before++)
        offset += group_size(of, before);
    return offset;
}

/* --- what it takes ------------------------------------------------------------------------------------------------- */

static double flops(const union model_settings *settings, struct work work, int layer, enum work_pass pass)
{
    const struct transformer_settings *of = &settings->transformer;
    const double C = of->hidden_dim, products = pass == WORK_FORWARD ? 1 : 2; /* backward: for input and weight */
    if (layer == 0)
        return 0;
    if (layer > of->num_blocks)
        return 2 * products * work.samples * C * of->num_classes;
    double per_token = C * 3 * C + C * C + 2 * C * 2 * C;
    return 2 * products *
           (work.padded_tokens * per_token + work.padded_token_length * 2 * C); /* attention: two products */
}

/* Return the operations of a block's attention, up to what its heads give. */
static double attention_flops(const struct transformer_settings *of, struct work work)
{
    const double C = of->hidden_dim;
    return 2 * (work.padded_tokens * C * 3 * C + work.padded_token_length * 2 * C);
}

/* Attention of the last block is still there when backward begins. */
static double flops_again(const union model_settings *settings, struct work work, int layer)
{
    const struct transformer_settings *of = &settings->transformer;
    return of->recompute.attention_only && layer >= 1 && layer < of->num_blocks ? attention_flops(of, work) : 0;
}

static struct sample_words sample(const union model_settings *settings)
{
    const struct transformer_settings *of = &settings->transformer;
    return (
        struct sample_words){ .words = of->texts.fixed_length, .classes = of->num_classes, .vocab = of->vocab_size };
}

/* Sequences per batch and their length, relative to the run's batch size and longest sequence. Length and number vary
 * separately, and no shape is a lab's own. */
enum { SHAPES = 6 };
static const struct {
    double texts, length;
} shapes[SHAPES] = { { 0.5, 0.25 }, { 2, 0.25 }, { 1, 0.4 }, { 1, 0.6 }, { 0.5, 0.85 }, { 1, 0.85 } };

static int scaled(double factor, int whole)
{
    int part = (int)(factor * whole);
    return part > 0 ? part : 1;
}

static void shape(union model_settings *settings, struct run *run, int shape)
{
    struct text_settings *texts = &settings->transformer.texts;
    run->batch_size = scaled(shapes[shape].texts, run->batch_size);
    texts->fixed_length = scaled(shapes[shape].length, texts->max_length);
}

static void refuse(const union model_settings *settings, const struct run *run)
{
    const struct transformer_settings *of = &settings->transformer;
    const struct text_settings *texts = &of->texts;
    struct token_recipe recipe = sequence_recipe(of, run, false);
    if (texts->min_length > texts->max_length)
        die(STATUS_USAGE, "--min-seq-len %d is more than --max-seq-len %d; lower the one or raise the other",
            texts->min_length, texts->max_length);
    if (of->hidden_dim % of->num_heads != 0)
        die(STATUS_USAGE, "--hidden-dim %d cannot be divided among --num-heads %d; choose a multiple", of->hidden_dim,
            of->num_heads);
    if (of->hidden_dim / of->num_heads > DEVICE_LANES)
        die(STATUS_USAGE, "--hidden-dim %d in --num-heads %d is more than %d a head; use more heads", of->hidden_dim,
            of->num_heads, DEVICE_LANES);
    if (!token_recipe_works(&recipe))
        die(STATUS_USAGE, "--steps %d, --batch-size %d and %d ranks make too many texts to keep; use fewer steps",
            run->steps, run->batch_size, run->ranks);
}

/* --- passes -------------------------------------------------------------------------------------------------------- */

/* Arguments of a layer's passes: its activations, parameters and gradients. */
struct pass {
    struct activations *a;
    int block;          /* number of a block; -1: another layer */
    struct block *b;    /* its activations; else NULL */
    const float *input; /* (R,C), of a block or of the classifier */
    float *parameters, *gradients;
};

static struct pass pass_of(struct model *model, int layer)
{
    struct activations *a = model->state;
    struct pass pass = {
        .a = a, .block = -1, .parameters = model->layer[layer].parameters, .gradients = model->layer[layer].gradients
    };
    if (layer >= 1 && layer <= a->of.num_blocks) {
        pass.block = layer - 1;
        pass.b = &a->block[pass.block];
    }
    pass.input = layer >= 1 ? transformer_input(a, layer - 1) : NULL;
    return pass;
}

static float *parameter(const struct pass *pass, enum transformer_group group)
{
    return pass->parameters + pass->a->offset[group];
}

static float *gradient(const struct pass *pass, enum transformer_group group)
{
    return pass->gradients + pass->a->offset[group];
}

static struct attention attention_of(const struct pass *pass, const struct batch *batch)
{
    const struct transformer_settings *of = &pass->a->of;
    return (struct attention){
        .text = batch->sequence,
        .texts = batch->samples,
        .longest = batch->longest,
        .heads = of->num_heads,
        .head_width = of->hidden_dim / of->num_heads,
        .projected = pass->b->attention.qkv,
        .bias = parameter(pass, QKV_BIAS),
        .out = pass->b->attention.attended,
        .log_sum = pass->b->attention.log_sum,
        .scratch = pass->a->scratch,
    };
}

/* Compute a block's attention, whose activations stay for backward. */
static void attend(const struct pass *pass, const struct batch *batch)
{
    const struct attended *a = &pass->b->attention;
    transformer_hold_attention(pass->a, pass->block);
    int R = batch->rows, C = pass->a->of.hidden_dim;
    device_layer_norm(a->normal1, a->moments1, pass->input, parameter(pass, NORM1_WEIGHT), parameter(pass, NORM1_BIAS),
                      R, C);
    device_multiply(a->qkv, a->normal1, parameter(pass, QKV_WEIGHT), R, 3 * C, C);
    struct attention attention = attention_of(pass, batch);
    device_attention(&attention);
}

static void forward_attention(const struct pass *pass, const struct batch *batch)
{
    const struct block *b = pass->b;
    int R = batch->rows, C = pass->a->of.hidden_dim;
    attend(pass, batch);
    device_multiply(b->middle, b->attention.attended, parameter(pass, JOIN_WEIGHT), R, C, C);
    device_residual(b->middle, pass->input, parameter(pass, JOIN_BIAS), R, C);
}

static void forward_feed(const struct pass *pass, int R, float *top)
{
    const struct block *b = pass->b;
    int C = pass->a->of.hidden_dim;
    device_layer_norm(b->normal2, b->moments2, b->middle, parameter(pass, NORM2_WEIGHT), parameter(pass, NORM2_BIAS), R,
                      C);
    device_multiply(b->up, b->normal2, parameter(pass, UP_WEIGHT), R, 2 * C, C);
    device_gelu(b->up, b->slope, parameter(pass, UP_BIAS), R, 2 * C);
    device_multiply(top, b->up, parameter(pass, DOWN_WEIGHT), R, C, 2 * C);
    device_residual(top, b->middle, parameter(pass, DOWN_BIAS), R, C);
}

static void forward_class(const struct pass *pass, const struct batch *batch, struct losses *losses)
{
    struct activations *a = pass->a;
    int B = batch->samples, C = a->of.hidden_dim, classes = a->of.num_classes;
    device_mean_pool(a->pooled, pass->input, batch->sequence, B, C);
    device_multiply(a->logits, a->pooled, parameter(pass, CLASS_WEIGHT), B, classes, C);
    device_cross_entropy(losses_next(losses, B), a->logits, parameter(pass, CLASS_BIAS), batch->labels, B, classes,
                         batch->scale);
}

static void forward(struct model *model, const struct batch *batch, int layer)
{
    const struct pass pass = pass_of(model, layer);
    if (layer == 0) {
        device_gather(pass.a->embedded, pass.parameters, batch->token, batch->rows, pass.a->of.hidden_dim);
    } else if (pass.b) {
        transformer_hold_block(pass.a, pass.block);
        forward_attention(&pass, batch);
        if (!model->computes_again)
            transformer_drop_after_attention(pass.a, pass.block);
        forward_feed(&pass, batch->rows, transformer_output(pass.a, pass.block, model->computes_again));
        if (!model->computes_again)
            transformer_drop_after_block(pass.a, pass.block);
    } else {
        forward_class(&pass, batch, &model->losses);
    }
}

static void backward_class(const struct pass *pass, const struct batch *batch)
{
    struct activations *a = pass->a;
    int B = batch->samples, C = a->of.hidden_dim, classes = a->of.num_classes;
    device_column_sums(gradient(pass, CLASS_BIAS), a->logits, B, classes);
    device_multiply_outer(gradient(pass, CLASS_WEIGHT), a->pooled, a->logits, B, classes, C);
    device_multiply_back(a->pooled_back, a->logits, parameter(pass, CLASS_WEIGHT), B, classes, C);
    device_mean_pool_back(a->back, a->pooled_back, batch->sequence, B, C);
}

static void backward_feed(const struct pass *pass, int R)
{
    struct activations *a = pass->a;
    const struct block *b = pass->b;
    int C = a->of.hidden_dim;
    device_column_sums(gradient(pass, DOWN_BIAS), a->back, R, C);
    device_multiply_outer(gradient(pass, DOWN_WEIGHT), b->up, a->back, R, C, 2 * C);
    device_multiply_back(a->wide, a->back, parameter(pass, DOWN_WEIGHT), R, C, 2 * C);
    device_gelu_back(a->wide, b->slope, gradient(pass, UP_BIAS), R, 2 * C);
    device_multiply_outer(gradient(pass, UP_WEIGHT), b->normal2, a->wide, R, 2 * C, C);
    device_multiply_back(a->branch, a->wide, parameter(pass, UP_WEIGHT), R, 2 * C, C);
    device_layer_norm_back(a->back, gradient(pass, NORM2_WEIGHT), gradient(pass, NORM2_BIAS), a->branch, b->middle,
                           b->moments2, parameter(pass, NORM2_WEIGHT), R, C);
}

static void backward_attention(const struct pass *pass, const struct batch *batch)
{
    struct activations *a = pass->a;
    const struct block *b = pass->b;
    int R = batch->rows, C = a->of.hidden_dim;
    if (!b->attention.memory)
        attend(pass, batch);
    device_column_sums(gradient(pass, JOIN_BIAS), a->back, R, C);
    device_multiply_outer(gradient(pass, JOIN_WEIGHT), b->attention.attended, a->back, R, C, C);
    device_multiply_back(a->branch, a->back, parameter(pass, JOIN_WEIGHT), R, C, C);
    struct attention attention = attention_of(pass, batch);
    device_attention_back(a->wide, a->branch, &attention);
    device_column_sums(gradient(pass, QKV_BIAS), a->wide, R, 3 * C);
    device_multiply_outer(gradient(pass, QKV_WEIGHT), b->attention.normal1, a->wide, R, 3 * C, C);
    device_multiply_back(a->branch, a->wide, parameter(pass, QKV_WEIGHT), R, 3 * C, C);
    device_layer_norm_back(a->back, gradient(pass, NORM1_WEIGHT), gradient(pass, NORM1_BIAS), a->branch, pass->input,
                           b->attention.moments1, parameter(pass, NORM1_WEIGHT), R, C);
}

/* The embedding's gradient is dense: rows of words that did not occur are zero. */
static void backward(struct model *model, const struct batch *batch, int layer)
{
    const struct pass pass = pass_of(model, layer);
    if (layer == 0) {
        device_scatter(pass.gradients, pass.a->of.vocab_size, pass.a->back, batch->token, batch->rows,
                       pass.a->of.hidden_dim);
    } else if (pass.b) {
        backward_feed(&pass, batch->rows);
        backward_attention(&pass, batch);
        transformer_drop_block(pass.a, pass.block);
    } else {
        backward_class(&pass, batch);
    }
}

#define AT(member) offsetof(struct workload, of.transformer.member)
static const struct option_row rows[] = {
    { "--hidden-dim", OPTION_INTEGER, AT(hidden_dim), 1, 1024, "N", "width of the transformer" },
    { "--num-heads", OPTION_INTEGER, AT(num_heads), 1, 64, "N", "attention heads" },
    { "--num-blocks", OPTION_INTEGER, AT(num_blocks), 1, 256, "L", "blocks of the transformer" },
    { "--vocab-size", OPTION_INTEGER, AT(vocab_size), 2, 1 << 20, "N", "size of the vocabulary" },
    { "--num-classes", OPTION_INTEGER, AT(num_classes), 2, 65536, "N", "classes of the labels" },
    { "--min-seq-len", OPTION_INTEGER, AT(texts.min_length), 1, 65536, "N", "tokens of the shortest text" },
    { "--max-seq-len", OPTION_INTEGER, AT(texts.max_length), 1, 65536, "N", "tokens of the longest text" },
    { "--fixed-seq-len", OPTION_INTEGER, AT(texts.fixed_length), 1, 65536, "N",
      "tokens of each text where all are equal" },
    { "--outlier-prob", OPTION_NUMBER, AT(texts.outlier_prob), 0, 1, "P", "share of texts that have the most tokens" },
    { "--max-tokens-per-batch", OPTION_INTEGER, AT(texts.max_tokens), 1, 1 << 24, "N", "token budget of a batch" },
    { 0 },
};
#undef AT

const struct model_type transformer_type = {
    .costs = WORK_TRANSFORMER,
    .learning_rate = 2e-3,
    .rows = rows,
    .name = name,
    .refuse = refuse,
    .layers = layers,
    .parameters = parameters,
    .flops = flops,
    .sample = sample,
    .shapes = SHAPES,
    .terms = 1u << COST_FIXED | 1u << COST_PER_PADDED_TOKEN | 1u << COST_PER_PADDED_TOKEN_LENGTH,
    .shape = shape,
    .open = transformer_open,
    .close = transformer_close,
    .memory = transformer_memory,
    .again_from = transformer_again_from,
    .flops_again = flops_again,
    .forward = forward,
    .backward = backward,
};
