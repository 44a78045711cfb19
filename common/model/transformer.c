#include "model/transformer.h"

#include "base/die.h"
#include "base/memory.h"
#include "device/device.h"
#include "model/losses.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct transformer {
    struct transformer_shape shape;
    size_t offset[TRANSFORMER_GROUPS + 1];
    float *parameters, *gradients;
    float *embedded, *normal1, *moments1; /* (R,C), (R,C), (R,2) */
    float *qkv, *attended, *log_sum;      /* (R,3C), (R,C), (R,H) */
    float *middle, *normal2, *moments2;   /* (R,C), (R,C), (R,2): after the first residual */
    float *up, *slope, *top;              /* (R,2C), (R,2C), (R,C): after GELU, gelu', after the second residual */
    float *pooled, *logits;               /* (T,C), (T,classes): the logits, then their gradient */
    float *back, *branch, *wide;          /* (R,C), (R,C), (R,3C): gradients on the main path and beside it */
    float *pooled_back;                   /* (T,C) */
    float *scratch;                       /* scratch of device_attention() */
    struct losses losses;
};

static float *parameter(const struct transformer *model, enum transformer_group group)
{
    return model->parameters + model->offset[group];
}

static float *gradient(const struct transformer *model, enum transformer_group group)
{
    return model->gradients + model->offset[group];
}

/* Return the inputs of a linear layer, for its weight and its bias; 0 for any other group. */
static int inputs_of(const struct transformer_shape *shape, enum transformer_group group)
{
    if (group == DOWN_WEIGHT || group == DOWN_BIAS)
        return 2 * shape->width;
    bool is_linear = group >= QKV_WEIGHT && group != NORM2_WEIGHT && group != NORM2_BIAS;
    return is_linear ? shape->width : 0;
}

static void find_offsets(size_t offset[TRANSFORMER_GROUPS + 1], const struct transformer_shape *shape)
{
    size_t C = (size_t)shape->width, classes = (size_t)shape->classes;
    const size_t size[TRANSFORMER_GROUPS] = {
        [EMBEDDING] = (size_t)shape->vocab * C,
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
    offset[0] = 0;
    for (int group = 0; group < TRANSFORMER_GROUPS; group++)
        offset[group + 1] = offset[group] + size[group];
}

struct weights transformer_weights(const struct transformer *model)
{
    struct weights weights = weights_of(model->shape.seed);
    for (int group = 0; group < TRANSFORMER_GROUPS; group++) {
        int inputs = inputs_of(&model->shape, (enum transformer_group)group);
        struct weights_part part = { .count = model->offset[group + 1] - model->offset[group] };
        part.kind = inputs > 0 ? WEIGHTS_UNIFORM : group == EMBEDDING ? WEIGHTS_NORMAL : WEIGHTS_ALIKE;
        part.value = inputs > 0 ? 1.0 / sqrt(inputs) : group == NORM1_WEIGHT || group == NORM2_WEIGHT;
        weights_add(&weights, part);
    }
    return weights;
}

/* Float array and its length. All arrays are listed, for opening and closing. */
struct buffer {
    float **at;
    size_t floats;
};
enum { BUFFERS = 21 };

static void list_buffers(struct buffer list[BUFFERS], struct transformer *m, size_t R, size_t T, int most_length)
{
    size_t C = (size_t)m->shape.width, H = (size_t)m->shape.heads, classes = (size_t)m->shape.classes;
    size_t count = transformer_parameter_count(m);
    const struct buffer all[BUFFERS] = {
        { &m->parameters, count },   { &m->gradients, count },   { &m->embedded, R * C },
        { &m->normal1, R * C },      { &m->moments1, R * 2 },    { &m->qkv, R * 3 * C },
        { &m->attended, R * C },     { &m->log_sum, R * H },     { &m->middle, R * C },
        { &m->normal2, R * C },      { &m->moments2, R * 2 },    { &m->up, R * 2 * C },
        { &m->slope, R * 2 * C },    { &m->top, R * C },         { &m->pooled, T * C },
        { &m->logits, T * classes }, { &m->back, R * C },        { &m->branch, R * C },
        { &m->wide, R * 3 * C },     { &m->pooled_back, T * C }, { &m->scratch, device_attention_scratch(most_length) },
    };
    memcpy(list, all, sizeof all);
}

static void refuse_impossible(const struct transformer_shape *shape)
{
    if (shape->heads < 1 || shape->width % shape->heads != 0 || shape->width / shape->heads > DEVICE_LANES)
        die(STATUS_WRONG, "%d heads cannot share a width of %d; choose heads of equal width, at most %d each",
            shape->heads, shape->width, DEVICE_LANES);
}

struct transformer *transformer_open(struct transformer_shape shape, int most_rows, int most_texts, int most_length)
{
    refuse_impossible(&shape);
    struct transformer *model = memory_new(1, sizeof *model);
    model->shape = shape;
    find_offsets(model->offset, &shape);
    struct buffer list[BUFFERS];
    list_buffers(list, model, (size_t)most_rows, (size_t)most_texts, most_length);
    for (int i = 0; i < BUFFERS; i++)
        *list[i].at = device_new(list[i].floats, sizeof(float));
    losses_open(&model->losses);
    transformer_restart(model);
    return model;
}

struct memory_estimate transformer_memory(const struct transformer_shape *shape, double most_rows, double most_texts,
                                          int most_length)
{
    struct transformer model = { .shape = *shape };
    find_offsets(model.offset, shape);
    struct buffer list[BUFFERS];
    list_buffers(list, &model, (size_t)most_rows, (size_t)most_texts, most_length);
    double floats = 0;
    for (int i = 0; i < BUFFERS; i++)
        floats += (double)list[i].floats;
    double parameters = (double)transformer_parameter_count(&model);
    return (
        struct memory_estimate){ .of = { [MEMORY_MODEL] = 2 * parameters * sizeof(float), /* parameters, gradients */
                                         [MEMORY_ACTIVATIONS] = (floats - 2 * parameters) * sizeof(float) } };
}

void transformer_close(struct transformer *model)
{
    struct buffer list[BUFFERS];
    list_buffers(list, model, 0, 0, 0);
    for (int i = 0; i < BUFFERS; i++)
        device_free(*list[i].at);
    losses_close(&model->losses);
    free(model);
}

void transformer_restart(struct transformer *model)
{
    const struct weights weights = transformer_weights(model);
    weights_put(&weights, model->parameters);
    device_fill(model->gradients, NAN, transformer_parameter_count(model));
    losses_restart(&model->losses);
}

static struct attention attention_of(const struct transformer *model, const struct sequence_batch *batch)
{
    return (struct attention){
        .text = batch->text,
        .texts = batch->texts,
        .longest = batch->longest,
        .heads = model->shape.heads,
        .head_width = model->shape.width / model->shape.heads,
        .projected = model->qkv,
        .bias = parameter(model, QKV_BIAS),
        .out = model->attended,
        .log_sum = model->log_sum,
        .scratch = model->scratch,
    };
}

static void forward_attention(struct transformer *m, const struct sequence_batch *batch)
{
    int R = batch->rows, C = m->shape.width;
    device_gather(m->embedded, parameter(m, EMBEDDING), batch->token, R, C);
    device_layer_norm(m->normal1, m->moments1, m->embedded, parameter(m, NORM1_WEIGHT), parameter(m, NORM1_BIAS), R, C);
    device_multiply(m->qkv, m->normal1, parameter(m, QKV_WEIGHT), R, 3 * C, C);
    struct attention attention = attention_of(m, batch);
    device_attention(&attention);
    device_multiply(m->middle, m->attended, parameter(m, JOIN_WEIGHT), R, C, C);
    device_residual(m->middle, m->embedded, parameter(m, JOIN_BIAS), R, C);
}

static void forward_feed(struct transformer *m, const struct sequence_batch *batch)
{
    int R = batch->rows, C = m->shape.width;
    device_layer_norm(m->normal2, m->moments2, m->middle, parameter(m, NORM2_WEIGHT), parameter(m, NORM2_BIAS), R, C);
    device_multiply(m->up, m->normal2, parameter(m, UP_WEIGHT), R, 2 * C, C);
    device_gelu(m->up, m->slope, parameter(m, UP_BIAS), R, 2 * C);
    device_multiply(m->top, m->up, parameter(m, DOWN_WEIGHT), R, C, 2 * C);
    device_residual(m->top, m->middle, parameter(m, DOWN_BIAS), R, C);
}

static void forward_class(struct transformer *m, const struct sequence_batch *batch)
{
    int T = batch->texts, C = m->shape.width, classes = m->shape.classes;
    device_mean_pool(m->pooled, m->top, batch->text, T, C);
    device_multiply(m->logits, m->pooled, parameter(m, CLASS_WEIGHT), T, classes, C);
    device_cross_entropy(losses_next(&m->losses, T), m->logits, parameter(m, CLASS_BIAS), batch->label, T, classes,
                         batch->scale);
}

void transformer_forward(struct transformer *model, const struct sequence_batch *batch)
{
    device_charge(WORK_TRANSFORMER, WORK_FORWARD, transformer_work(batch), 1);
    forward_attention(model, batch);
    forward_feed(model, batch);
    forward_class(model, batch);
}

double transformer_loss(const struct transformer *model)
{
    return losses_mean(&model->losses, 1);
}

static void backward_class(struct transformer *m, const struct sequence_batch *batch)
{
    int T = batch->texts, C = m->shape.width, classes = m->shape.classes;
    device_column_sums(gradient(m, CLASS_BIAS), m->logits, T, classes);
    device_multiply_outer(gradient(m, CLASS_WEIGHT), m->pooled, m->logits, T, classes, C);
    device_multiply_back(m->pooled_back, m->logits, parameter(m, CLASS_WEIGHT), T, classes, C);
    device_mean_pool_back(m->back, m->pooled_back, batch->text, T, C);
}

static void backward_feed(struct transformer *m, int R)
{
    int C = m->shape.width;
    device_column_sums(gradient(m, DOWN_BIAS), m->back, R, C);
    device_multiply_outer(gradient(m, DOWN_WEIGHT), m->up, m->back, R, C, 2 * C);
    device_multiply_back(m->wide, m->back, parameter(m, DOWN_WEIGHT), R, C, 2 * C);
    device_gelu_back(m->wide, m->slope, gradient(m, UP_BIAS), R, 2 * C);
    device_multiply_outer(gradient(m, UP_WEIGHT), m->normal2, m->wide, R, 2 * C, C);
    device_multiply_back(m->branch, m->wide, parameter(m, UP_WEIGHT), R, 2 * C, C);
    device_layer_norm_back(m->back, gradient(m, NORM2_WEIGHT), gradient(m, NORM2_BIAS), m->branch, m->middle,
                           m->moments2, parameter(m, NORM2_WEIGHT), R, C);
}

static void backward_attention(struct transformer *m, const struct sequence_batch *batch)
{
    int R = batch->rows, C = m->shape.width;
    device_column_sums(gradient(m, JOIN_BIAS), m->back, R, C);
    device_multiply_outer(gradient(m, JOIN_WEIGHT), m->attended, m->back, R, C, C);
    device_multiply_back(m->branch, m->back, parameter(m, JOIN_WEIGHT), R, C, C);
    struct attention attention = attention_of(m, batch);
    device_attention_back(m->wide, m->branch, &attention);
    device_column_sums(gradient(m, QKV_BIAS), m->wide, R, 3 * C);
    device_multiply_outer(gradient(m, QKV_WEIGHT), m->normal1, m->wide, R, 3 * C, C);
    device_multiply_back(m->branch, m->wide, parameter(m, QKV_WEIGHT), R, 3 * C, C);
    device_layer_norm_back(m->back, gradient(m, NORM1_WEIGHT), gradient(m, NORM1_BIAS), m->branch, m->embedded,
                           m->moments1, parameter(m, NORM1_WEIGHT), R, C);
    device_scatter(gradient(m, EMBEDDING), m->shape.vocab, m->back, batch->token, R, C);
}

void transformer_backward(struct transformer *model, const struct sequence_batch *batch)
{
    device_charge(WORK_TRANSFORMER, WORK_BACKWARD, transformer_work(batch), 1);
    backward_class(model, batch);
    backward_feed(model, batch->rows);
    backward_attention(model, batch);
}

size_t transformer_parameter_count(const struct transformer *model)
{
    return model->offset[TRANSFORMER_GROUPS];
}

float *transformer_parameters(struct transformer *model)
{
    return model->parameters;
}

float *transformer_gradients(struct transformer *model)
{
    return model->gradients;
}

size_t transformer_offset(const struct transformer *model, enum transformer_group group)
{
    return model->offset[group];
}

double transformer_gradient_bytes(const struct transformer_shape *shape)
{
    size_t offset[TRANSFORMER_GROUPS + 1];
    find_offsets(offset, shape);
    return (double)(offset[TRANSFORMER_GROUPS] * sizeof(float));
}

struct work transformer_work(const struct sequence_batch *batch)
{
    struct work work = { .samples = batch->texts, .padded_tokens = batch->rows };
    for (int t = 0; t < batch->texts; t++)
        work.padded_token_length += (double)batch->listed[t].extent * batch->listed[t].extent;
    return work;
}

double transformer_flops(const struct transformer_shape *shape, struct work work)
{
    double C = shape->width;
    double per_token = C * 3 * C + C * C + 2 * C * 2 * C;
    double per_text = C * shape->classes;
    /* each product once forward, and twice backward, for input and weight; attention has two products */
    return 2 * 3 * (work.padded_tokens * per_token + work.samples * per_text + work.padded_token_length * 2 * C);
}
