#include "model/transformer.h"

#include "base/die.h"
#include "base/memory.h"
#include "device/device.h"
#include "model/model_type.h"
#include "model/sequence_recipe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Activations of a block. Its input is the output of the layer before. */
struct block {
    struct attended {
        float *normal1, *moments1;       /* (R,C), (R,2) */
        float *qkv, *attended, *log_sum; /* (R,3C), (R,C), (R,H) */
    } attention;
    float *middle, *normal2, *moments2; /* (R,C), (R,C), (R,2): after the first residual */
    float *up, *slope, *top;            /* (R,2C), (R,2C), (R,C): after GELU, gelu', after the second residual */
    int holds;                          /* block whose activations these are now; -1: none */
};

/* If all activations are kept, each block has its own. If only every k-th block's input is, there are those of k blocks, which
 * forward uses again and again, and the outputs that are such an input have memory of their own. */
struct activations {
    struct transformer_settings of;
    size_t offset[TRANSFORMER_GROUPS]; /* of each group within the parameters of its layer */
    float *embedded;                   /* (R,C) */
    int sets;                          /* blocks that have activations at a time */
    int attending;                     /* block that attended last; -1: none */
    struct block *block;               /* (sets) */
    float **kept;           /* (runs) of (R,C): the input of each run of k blocks; that of the first is `embedded` */
    float *pooled, *logits; /* (B,C), (B,classes): the logits, then their gradient */
    float *pooled_back;     /* (B,C) */
    float *back, *branch,
        *wide;      /* (R,C), (R,C), (R,3C): gradients on the main path and beside it; all blocks use them */
    float *scratch; /* scratch of device_attention() */
};

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

/* --- activations --------------------------------------------------------------------------------------------------- */

/* Blocks that have activations at a time: those of a run between two kept inputs, or all. */
static int sets_of(const struct transformer_settings *of)
{
    const int every = of->recompute.every;
    return every > 0 && every < of->num_blocks ? every : of->num_blocks;
}

static int runs_of(const struct transformer_settings *of)
{
    return (of->num_blocks + sets_of(of) - 1) / sets_of(of);
}

/* Float array and its length. All arrays are listed, for opening, closing and counting. */
struct buffer {
    float **at;
    double floats;
};
enum { OF_ATTENTION = 5, OF_BLOCK = 6, SHARED = 8 };

static void list_attention(struct buffer list[OF_ATTENTION], struct block *b, const struct transformer_settings *of,
                           double R)
{
    const double C = of->hidden_dim, H = of->num_heads;
    struct attended *a = &b->attention;
    const struct buffer all[OF_ATTENTION] = { { &a->normal1, R * C },
                                              { &a->moments1, R * 2 },
                                              { &a->qkv, R * 3 * C },
                                              { &a->attended, R * C },
                                              { &a->log_sum, R * H } };
    memcpy(list, all, sizeof all);
}

static void list_block(struct buffer list[OF_BLOCK], struct block *b, const struct transformer_settings *of, double R)
{
    const double C = of->hidden_dim;
    const struct buffer all[OF_BLOCK] = { { &b->middle, R * C }, { &b->normal2, R * C },   { &b->moments2, R * 2 },
                                          { &b->up, R * 2 * C }, { &b->slope, R * 2 * C }, { &b->top, R * C } };
    memcpy(list, all, sizeof all);
}

static void list_shared(struct buffer list[SHARED], struct activations *a, struct batch_most most)
{
    const double R = most.rows, B = most.samples, C = a->of.hidden_dim;
    const struct buffer all[SHARED] = {
        { &a->embedded, R * C },
        { &a->pooled, B * C },
        { &a->logits, B * a->of.num_classes },
        { &a->back, R * C },
        { &a->branch, R * C },
        { &a->wide, R * 3 * C },
        { &a->pooled_back, B * C },
        { &a->scratch, (double)device_attention_scratch((int)most.length) },
    };
    memcpy(list, all, sizeof all);
}

/* The last run's activations are still there when backward begins. */
static bool is_again(const union model_settings *settings, int layer)
{
    const struct transformer_settings *of = &settings->transformer;
    return layer >= 1 && layer <= (runs_of(of) - 1) * sets_of(of);
}

static void open_buffers(const struct buffer *list, int count)
{
    for (int i = 0; i < count; i++)
        *list[i].at = device_new(MEMORY_ACTIVATIONS, (size_t)list[i].floats, sizeof(float));
}

/* If attention is computed again, all blocks share its activations. */
static void open_block(struct activations *a, int i, double R)
{
    struct block *b = &a->block[i];
    struct buffer of_block[OF_BLOCK], of_attention[OF_ATTENTION];
    ledger_layer(i + 1);
    b->holds = -1;
    list_block(of_block, b, &a->of, R);
    open_buffers(of_block, OF_BLOCK);
    list_attention(of_attention, b, &a->of, R);
    if (i == 0 || !a->of.recompute.attention_only)
        open_buffers(of_attention, OF_ATTENTION);
    else
        b->attention = a->block[0].attention;
}

static void *open_activations(const union model_settings *settings, struct batch_most most)
{
    struct activations *a = memory_new(1, sizeof *a);
    a->of = settings->transformer;
    if (a->of.num_heads < 1 || a->of.hidden_dim % a->of.num_heads != 0 ||
        a->of.hidden_dim / a->of.num_heads > DEVICE_LANES)
        die(STATUS_WRONG, "%d heads cannot share a width of %d; choose heads of equal width, at most %d each",
            a->of.num_heads, a->of.hidden_dim, DEVICE_LANES);
    for (enum transformer_group group = 0; group < TRANSFORMER_GROUPS; group++)
        a->offset[group] = transformer_offset(&a->of, group);
    struct buffer shared[SHARED];
    list_shared(shared, a, most);
    open_buffers(shared, SHARED);
    a->sets = sets_of(&a->of);
    a->attending = -1;
    a->block = memory_new((size_t)a->sets, sizeof *a->block);
    a->kept = memory_new((size_t)runs_of(&a->of), sizeof *a->kept);
    for (int i = 0; i < a->sets; i++)
        open_block(a, i, most.rows);
    for (int run = 1; run < runs_of(&a->of); run++) {
        ledger_layer(run * a->sets);
        a->kept[run] = device_new(MEMORY_ACTIVATIONS, (size_t)(most.rows * a->of.hidden_dim), sizeof(float));
    }
    ledger_layer(-1);
    return a;
}

static double sum_floats(const struct buffer *list, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += list[i].floats;
    return sum;
}

static double bytes(const union model_settings *settings, struct batch_most most)
{
    struct activations a = { .of = settings->transformer };
    struct block block;
    struct buffer shared[SHARED], of_block[OF_BLOCK], of_attention[OF_ATTENTION];
    list_shared(shared, &a, most);
    list_block(of_block, &block, &a.of, most.rows);
    list_attention(of_attention, &block, &a.of, most.rows);
    const double sets = sets_of(&a.of), attentions = a.of.recompute.attention_only ? 1 : sets,
                 kept = (runs_of(&a.of) - 1) * most.rows * a.of.hidden_dim;
    return (sum_floats(shared, SHARED) + sets * sum_floats(of_block, OF_BLOCK) +
            attentions * sum_floats(of_attention, OF_ATTENTION) + kept) *
           sizeof(float);
}

static void close_buffers(const struct buffer *list, int count)
{
    for (int i = 0; i < count; i++)
        device_free(*list[i].at);
}

static void close_activations(void *state)
{
    struct activations *a = state;
    const struct batch_most none = { 0 };
    struct buffer shared[SHARED], of_block[OF_BLOCK], of_attention[OF_ATTENTION];
    list_shared(shared, a, none);
    close_buffers(shared, SHARED);
    for (int i = 0; i < a->sets; i++) {
        list_block(of_block, &a->block[i], &a->of, 0);
        close_buffers(of_block, OF_BLOCK);
        list_attention(of_attention, &a->block[i], &a->of, 0);
        if (i == 0 || !a->of.recompute.attention_only)
            close_buffers(of_attention, OF_ATTENTION);
    }
    for (int run = 1; run < runs_of(&a->of); run++)
        device_free(a->kept[run]);
    free(a->kept);
    free(a->block);
    free(a);
}

/* --- passes -------------------------------------------------------------------------------------------------------- */

/* What the passes of a layer share: its activations, and its parameters and gradients by group. */
struct pass {
    struct activations *a;
    int block;          /* number of a block; -1: another layer */
    struct block *b;    /* its activations; else NULL */
    const float *input; /* (R,C), of a block or of the classifier */
    float *top;         /* (R,C): output of a block */
    float *parameters, *gradients;
};

/* Return where the output of a block goes: a run's input if the next block begins one. */
static float *top_of(const struct activations *a, int block)
{
    const int run = (block + 1) / a->sets;
    return (block + 1) % a->sets == 0 && run < runs_of(&a->of) ? a->kept[run] : a->block[block % a->sets].top;
}

static struct pass pass_of(struct model *model, int layer)
{
    struct activations *a = model->state;
    struct pass pass = {
        .a = a, .block = -1, .parameters = model->layer[layer].parameters, .gradients = model->layer[layer].gradients
    };
    if (layer >= 1 && layer <= a->of.num_blocks) {
        pass.block = layer - 1;
        pass.b = &a->block[pass.block % a->sets];
        pass.top = top_of(a, pass.block);
    }
    pass.input = layer >= 2 ? top_of(a, layer - 2) : a->embedded;
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

/* Compute what a block's attention keeps for backward, in memory that it may share with the other blocks. */
static void attend(const struct pass *pass, const struct batch *batch)
{
    const struct attended *a = &pass->b->attention;
    int R = batch->rows, C = pass->a->of.hidden_dim;
    device_layer_norm(a->normal1, a->moments1, pass->input, parameter(pass, NORM1_WEIGHT), parameter(pass, NORM1_BIAS),
                      R, C);
    device_multiply(a->qkv, a->normal1, parameter(pass, QKV_WEIGHT), R, 3 * C, C);
    struct attention attention = attention_of(pass, batch);
    device_attention(&attention);
    pass->a->attending = pass->block;
}

static void forward_attention(const struct pass *pass, const struct batch *batch)
{
    struct block *b = pass->b;
    int R = batch->rows, C = pass->a->of.hidden_dim;
    attend(pass, batch);
    device_multiply(b->middle, b->attention.attended, parameter(pass, JOIN_WEIGHT), R, C, C);
    device_residual(b->middle, pass->input, parameter(pass, JOIN_BIAS), R, C);
}

static void forward_feed(const struct pass *pass, int R)
{
    struct block *b = pass->b;
    int C = pass->a->of.hidden_dim;
    device_layer_norm(b->normal2, b->moments2, b->middle, parameter(pass, NORM2_WEIGHT), parameter(pass, NORM2_BIAS), R,
                      C);
    device_multiply(b->up, b->normal2, parameter(pass, UP_WEIGHT), R, 2 * C, C);
    device_gelu(b->up, b->slope, parameter(pass, UP_BIAS), R, 2 * C);
    device_multiply(pass->top, b->up, parameter(pass, DOWN_WEIGHT), R, C, 2 * C);
    device_residual(pass->top, b->middle, parameter(pass, DOWN_BIAS), R, C);
    b->holds = pass->block;
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
        forward_attention(&pass, batch);
        forward_feed(&pass, batch->rows);
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
    if (a->of.recompute.attention_only && a->attending != pass->block)
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

/* Backward of a block reads its own activations and its input, which the block before may have had to write again. */
static int again_from(const void *state, int layer)
{
    const struct activations *a = state;
    const int block = layer - 1, first = block / a->sets * a->sets; /* of the run */
    bool is_there = true;
    if (block < 0 || block >= a->of.num_blocks)
        return layer + 1;
    for (int i = first; i <= block; i++)
        is_there &= a->block[i % a->sets].holds == i;
    return is_there ? layer + 1 : first + 1;
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
    .open = open_activations,
    .close = close_activations,
    .bytes = bytes,
    .again_from = again_from,
    .is_again = is_again,
    .flops_again = flops_again,
    .forward = forward,
    .backward = backward,
};
