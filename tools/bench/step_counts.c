#include "bench/step_counts.h"

#include <math.h>
#include <string.h>

struct step_sizes step_sizes_published(void)
{
    const struct mlp_settings *samples = &published_mlp.of.mlp;
    const struct transformer_settings *texts = &published_transformer.of.transformer;
    return (struct step_sizes){ .input_dim = samples->input_dim,
                                .hidden_dim = samples->hidden_dim,
                                .num_classes = samples->num_classes,
                                .vocab_size = texts->vocab_size,
                                .width = texts->hidden_dim,
                                .num_heads = texts->num_heads,
                                .num_topics = texts->num_classes };
}

struct step_sizes step_sizes_toy(void)
{
    return (struct step_sizes){ .input_dim = 32,
                                .hidden_dim = 24,
                                .num_classes = 10,
                                .vocab_size = 40,
                                .width = 8,
                                .num_heads = 2,
                                .num_topics = 4 };
}

struct workload step_workload(const struct step_sizes *sizes, const struct step *step)
{
    struct workload workload = step->model == WORK_MLP ? published_mlp : published_transformer;
    if (step->model == WORK_MLP) {
        workload.of.mlp.input_dim = sizes->input_dim;
        workload.of.mlp.hidden_dim = sizes->hidden_dim;
        workload.of.mlp.num_classes = sizes->num_classes;
    } else {
        workload.of.transformer.vocab_size = sizes->vocab_size;
        workload.of.transformer.hidden_dim = sizes->width;
        workload.of.transformer.num_heads = sizes->num_heads;
        workload.of.transformer.num_classes = sizes->num_topics;
    }
    return workload;
}

int step_text_length(const struct step *step, int text)
{
    int gaps = step->batch > 1 ? step->batch - 1 : 1;
    return step->tokens - (int)((long)text * (step->tokens / 2) / gaps);
}

int step_text_extent(const struct step *step, int text)
{
    return step->is_packed ? step_text_length(step, text) : step->tokens;
}

int step_rows(const struct step *step)
{
    int rows = 0;
    for (int text = 0; text < step->batch; text++)
        rows += step_text_extent(step, text);
    return rows;
}

/* --- matrix products ---------------------------------------------------------------------------------------------- */

static void grow(struct step_layers *layers, int array, int rows, int columns)
{
    size_t floats = (size_t)rows * (size_t)columns;
    if (array != STEP_NO_ARRAY && floats > layers->floats[array])
        layers->floats[array] = floats;
    if (array >= layers->arrays)
        layers->arrays = array + 1;
}

static void add_layer(struct step_layers *layers, struct step_layer layer)
{
    layers->of[layers->count++] = layer;
    grow(layers, layer.x, layer.B, layer.K);
    grow(layers, layer.dx, layer.B, layer.K);
    grow(layers, layer.y, layer.B, layer.N);
    grow(layers, layer.dy, layer.B, layer.N);
}

/* The arrays of mlp.c. */
static void add_mlp(struct step_layers *layers, const struct step_sizes *sizes, int B)
{
    enum { INPUT, OUTPUT0, OUTPUT1, OUTPUT2, BACK0, BACK1 };
    int H = sizes->hidden_dim;
    add_layer(layers, (struct step_layer){ B, sizes->input_dim, H, INPUT, OUTPUT0, BACK0, STEP_NO_ARRAY });
    add_layer(layers, (struct step_layer){ B, H, H, OUTPUT0, OUTPUT1, BACK1, BACK0 });
    add_layer(layers, (struct step_layer){ B, H, sizes->num_classes, OUTPUT1, OUTPUT2, OUTPUT2, BACK1 });
}

/* The arrays of transformer.c. */
static void add_transformer(struct step_layers *layers, const struct step_sizes *sizes, const struct step *step)
{
    enum { NORMAL1, QKV, ATTENDED, MIDDLE, NORMAL2, UP, TOP, POOLED, LOGITS, BACK, BRANCH, WIDE, POOLED_BACK };
    int T = step->batch, R = step_rows(step), C = sizes->width;
    add_layer(layers, (struct step_layer){ R, C, 3 * C, NORMAL1, QKV, WIDE, BRANCH });
    add_layer(layers, (struct step_layer){ R, C, C, ATTENDED, MIDDLE, BACK, BRANCH });
    add_layer(layers, (struct step_layer){ R, C, 2 * C, NORMAL2, UP, WIDE, BRANCH });
    add_layer(layers, (struct step_layer){ R, 2 * C, C, UP, TOP, BACK, WIDE });
    add_layer(layers, (struct step_layer){ T, C, sizes->num_topics, POOLED, LOGITS, LOGITS, POOLED_BACK });
}

struct step_layers step_layers(const struct step_sizes *sizes, const struct step *step)
{
    struct step_layers layers = { 0 };
    if (step->model == WORK_MLP)
        add_mlp(&layers, sizes, step->batch);
    else
        add_transformer(&layers, sizes, step);
    return layers;
}

static void count_products(struct step_counts *counts, const struct step_layers *layers)
{
    for (int i = 0; i < layers->count; i++) {
        const struct step_layer *l = &layers->of[i];
        double B = l->B, K = l->K, N = l->N;
        int products = l->dx == STEP_NO_ARRAY ? 2 : 3;
        counts->operations += products;
        counts->product_flops += 2 * products * B * K * N;
        counts->product_bytes += 4 * products * (B * K + K * N + B * N);
    }
}

/* --- other operations: 4-byte numbers that each reads and writes, named by array ------------------------------------ */

static void add_operation(struct step_counts *counts, double numbers)
{
    counts->operations++;
    counts->other_bytes += 4 * numbers;
}

static void add_gelu(struct step_counts *counts, double B, double N)
{
    add_operation(counts, 3 * B * N + N); /* forward: z in and out, slope, bias */
    add_operation(counts, 3 * B * N + N); /* backward: d in and out, slope, the bias's gradient */
}

/* Cross-entropy and the gradient of its bias. The loss is a double (2 numbers). */
static void add_cross_entropy(struct step_counts *counts, double B, double N)
{
    add_operation(counts,
                  2 * B * N + N + B + 2); /* logits in and out (in between they stay in a cache), bias, labels */
    add_operation(counts, B * N + N);
}

static void add_adamw(struct step_counts *counts)
{
    add_operation(counts, 7 * counts->parameters); /* p, m, v in and out, g */
}

static void add_layer_norm(struct step_counts *counts, double R, double C)
{
    add_operation(counts, 2 * R * C + 2 * R + 2 * C); /* x, y, moments, weight and bias */
    add_operation(counts, 4 * R * C + 2 * R + 3 * C); /* d in and out, back, x, moments, weight and two gradients */
}

/* End of a residual branch, and the gradient of its bias. */
static void add_residual(struct step_counts *counts, double R, double C)
{
    add_operation(counts, 3 * R * C + C); /* x in and out, beside, bias */
    add_operation(counts, R * C + C);
}

/* Attention and the gradient of its bias. A sequence is described by three numbers. Scores stay on the chip. */
static void add_attention(struct step_counts *counts, double R, double C, double H, double T)
{
    add_operation(counts, 4 * R * C + R * H + 3 * C + 3 * T); /* projected, out, log_sum, bias, texts */
    add_operation(counts, 8 * R * C + R * H + 3 * C + 3 * T); /* d, projected, out, back, log_sum, bias, texts */
    add_operation(counts, 3 * R * C + 3 * C);
}

static void add_mean_pool(struct step_counts *counts, double R, double C, double T)
{
    add_operation(counts, R * C + T * C + 3 * T);
    add_operation(counts, R * C + T * C + 3 * T);
}

/* Embedding; its gradient writes the whole table. */
static void add_embedding(struct step_counts *counts, double R, double C, double words)
{
    add_operation(counts, 2 * R * C + R);
    add_operation(counts, R * C + R + words * C);
}

static void count_mlp(struct step_counts *counts, const struct step_sizes *sizes, const struct step *step)
{
    add_gelu(counts, step->batch, sizes->hidden_dim);
    add_gelu(counts, step->batch, sizes->hidden_dim);
    add_cross_entropy(counts, step->batch, sizes->num_classes);
}

static void count_transformer(struct step_counts *counts, const struct step_sizes *sizes, const struct step *step)
{
    double T = step->batch, R = step_rows(step), C = sizes->width;
    add_embedding(counts, R, C, sizes->vocab_size);
    add_layer_norm(counts, R, C);
    add_attention(counts, R, C, sizes->num_heads, T);
    add_residual(counts, R, C);
    add_layer_norm(counts, R, C);
    add_gelu(counts, R, 2 * C);
    add_residual(counts, R, C);
    add_mean_pool(counts, R, C, T);
    add_cross_entropy(counts, T, sizes->num_topics);
}

struct step_counts step_count(const struct step_sizes *sizes, const struct step *step)
{
    struct step_counts counts = { 0 };
    struct step_layers layers = step_layers(sizes, step);
    const struct workload workload = step_workload(sizes, step);
    struct work work = work_samples(step->batch);
    for (int text = 0; text < step->batch && step->model == WORK_TRANSFORMER; text++) {
        work.padded_tokens += step_text_extent(step, text);
        work.padded_token_length += pow(step_text_extent(step, text), 2);
    }
    counts.parameters = (double)workload_parameters(&workload);
    counts.flops = workload_flops(&workload, work);
    count_products(&counts, &layers);
    if (step->model == WORK_MLP)
        count_mlp(&counts, sizes, step);
    else
        count_transformer(&counts, sizes, step);
    add_adamw(&counts);
    return counts;
}
