/* test_transformer.c: test the transformer against independent arithmetic. The loss is compared with a plain forward
 * pass in double precision without padding, every gradient with central finite differences of that pass. Packed batches
 * are compared with padded batches. Each device operation is compared with slow loops, at sizes that are no multiple of
 * the vector width. */
#include "base/memory.h"
#include "base/random.h"
#include "device/device.h"
#include "model/adamw.h"
#include "model/model.h"
#include "support/on_device.h"
#include "support/slope.h"
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TOKENS = 40, MOST_WIDTH = 48, MOST_TEXTS = 8 };

/* Arrays that a test allocates; drop_all() frees them together. */
struct heap {
    struct random random;
    void *item[16];
    int items;
};

static void *take(struct heap *heap, int count, size_t size)
{
    return heap->item[heap->items++] = memory_new((size_t)count, size);
}

static double *new_doubles(struct heap *heap, int count)
{
    return take(heap, count, sizeof(double));
}

static float *random_floats(struct heap *heap, int count)
{
    float *x = take(heap, count, sizeof *x);
    for (int i = 0; i < count; i++)
        x[i] = (float)random_normal(&heap->random);
    return x;
}

static float *poisoned_floats(struct heap *heap, int count)
{
    float *x = take(heap, count, sizeof *x);
    memset(x, 0xff, (size_t)count * sizeof *x); /* all bits set is a NaN */
    return x;
}

static void drop_all(struct heap *heap)
{
    while (heap->items > 0)
        free(heap->item[--heap->items]);
}

static int open_heap(void **state)
{
    struct heap *heap = *state = memory_new(1, sizeof *heap);
    random_seed(&heap->random, 1);
    return 0;
}

static int close_heap(void **state)
{
    drop_all(*state);
    free(*state);
    return 0;
}

#define TEST_ON_HEAP(name) UNIT_TEST(name, open_heap, close_heap)

static void expect_within(const char *what, double limit, const float *got, const double *exact, int count)
{
    for (int i = 0; i < count; i++)
        if (!(fabs((double)got[i] - exact[i]) <= limit))
            fail_msg("%s: number %d of %d is %.9g and should be %.9g", what, i, count, (double)got[i], exact[i]);
}

/* Compare numbers; `tolerance` is relative to the largest. */
static void expect_close(const char *what, double tolerance, const float *got, const double *exact, int count)
{
    double largest = 1e-3;
    for (int i = 0; i < count; i++)
        largest = fmax(largest, fabs(exact[i]));
    expect_within(what, tolerance * largest, got, exact, count);
}

/* --- batches ----------------------------------------------------------------------------------------------------- */

/* Return a batch of sequences of these lengths, packed or padded. Tokens and labels are the same in both layouts. */
static struct batch lay_out(const int *length, int texts, bool packed, const struct transformer_settings *of)
{
    int longest = 0, rows = 0;
    for (int t = 0; t < texts; t++)
        longest = length[t] > longest ? length[t] : longest;
    struct sequence *text = memory_new((size_t)texts, sizeof *text);
    int32_t *token = memory_new((size_t)texts * (size_t)longest, sizeof *token);
    int32_t *label = memory_new((size_t)texts, sizeof *label);
    struct random random;
    random_seed(&random, 11);
    for (int t = 0; t < texts; t++) {
        text[t] = (struct sequence){ rows, length[t], packed ? length[t] : longest };
        label[t] = (int32_t)random_below(&random, (uint32_t)of->num_classes);
        for (int i = 0; i < length[t]; i++)
            token[rows + i] = (int32_t)random_below(&random, (uint32_t)of->vocab_size);
        rows += text[t].extent;
    }
    return (struct batch){ .samples = texts,
                           .labels = label,
                           .scale = 0.5f / (float)texts,
                           .token = token,
                           .sequence = text,
                           .listed = text,
                           .rows = rows,
                           .longest = longest };
}

static void drop(struct batch *batch)
{
    free((void *)batch->token);
    free((void *)batch->sequence);
    free((void *)batch->labels);
}

static struct model *open_model(const struct transformer_settings *of, int rows, int texts, int length)
{
    const struct workload workload = { .type = &transformer_type, .of.transformer = *of };
    return model_open(&workload, run_published_texts.seed, (struct batch_most){ texts, rows, length });
}

/* Return a model whose parameters have left the flat initial region, so that every slope matters. */
static struct model *stirred_model(const struct transformer_settings *of, int rows, int texts, int length)
{
    struct model *model = open_model(of, rows, texts, length);
    struct random random;
    random_seed(&random, 5);
    for (size_t i = 0; i < model->count; i++)
        model->parameters[i] += 0.3f * (float)random_normal(&random);
    return model;
}

/* --- the reference ----------------------------------------------------------------------------------------------- */

typedef double row_of[2 * MOST_WIDTH];

/* Compute out (N) = in (K) w + b, where w (K,N) and b (N) are at p. Return the parameters behind them. */
static const double *plain_linear(double *out, const double *in, const double *p, int K, int N)
{
    for (int n = 0; n < N; n++) {
        out[n] = p[K * N + n];
        for (int k = 0; k < K; k++)
            out[n] += in[k] * p[k * N + n];
    }
    return p + K * N + N;
}

static const double *plain_norm(double *out, const double *in, const double *p, int N)
{
    double mean = 0, variance = 0;
    for (int n = 0; n < N; n++)
        mean += in[n] / N;
    for (int n = 0; n < N; n++)
        variance += (in[n] - mean) * (in[n] - mean) / N;
    for (int n = 0; n < N; n++)
        out[n] = (in[n] - mean) / sqrt(variance + 1e-5) * p[n] + p[N + n];
    return p + 2 * N;
}

/* Compute the attention output (D) of query i of `tokens` in one head. Rows of q, k and v are `pitch` apart. */
static void plain_attention(double *out, const double *q, const double *k, const double *v, int pitch, int i,
                            int tokens, int D)
{
    double weight[MOST_TOKENS], sum = 0;
    for (int j = 0; j < tokens; j++) {
        double score = 0;
        for (int c = 0; c < D; c++)
            score += q[i * pitch + c] * k[j * pitch + c] / sqrt(D);
        sum += weight[j] = exp(score);
    }
    for (int c = 0; c < D; c++) {
        out[c] = 0;
        for (int j = 0; j < tokens; j++)
            out[c] += weight[j] / sum * v[j * pitch + c];
    }
}

/* Compute the second half of the block for one token: x (C) is the residual stream, `found` (C) the attention output. */
static const double *plain_feed(double *x, const double *found, const double *p, int C)
{
    row_of joined, normal, up, down;
    p = plain_linear(joined, found, p, C, C);
    for (int c = 0; c < C; c++)
        x[c] += joined[c];
    p = plain_norm(normal, x, p, C);
    p = plain_linear(up, normal, p, C, 2 * C);
    for (int c = 0; c < 2 * C; c++)
        up[c] = up[c] * 0.5 * (1 + erf(up[c] / sqrt(2)));
    p = plain_linear(down, up, p, 2 * C, C);
    for (int c = 0; c < C; c++)
        x[c] += down[c];
    return p;
}

/* Compute a block: x (tokens,C) is the residual stream. */
static const double *plain_block(double x[][MOST_WIDTH], const double *p, const struct transformer_settings *of,
                                 int tokens)
{
    static double qkv[MOST_TOKENS][3 * MOST_WIDTH];
    int C = of->hidden_dim, D = C / of->num_heads;
    const double *rest = p, *end = p;
    for (int i = 0; i < tokens; i++) {
        row_of normal;
        rest = plain_linear(qkv[i], normal, plain_norm(normal, x[i], p, C), C, 3 * C);
    }
    for (int i = 0; i < tokens; i++) {
        row_of found;
        for (int h = 0; h < of->num_heads; h++)
            plain_attention(found + h * D, &qkv[0][h * D], &qkv[0][C + h * D], &qkv[0][2 * C + h * D], 3 * MOST_WIDTH,
                            i, tokens, D);
        end = plain_feed(x[i], found, rest, C);
    }
    return end;
}

static double plain_text_loss(const double *p, const struct transformer_settings *of, const int32_t *token, int tokens,
                              int label)
{
    static double x[MOST_TOKENS][MOST_WIDTH];
    int C = of->hidden_dim;
    row_of mean = { 0 }, logits;
    for (int i = 0; i < tokens; i++)
        memcpy(x[i], p + token[i] * C, (size_t)C * sizeof(double));
    p += of->vocab_size * C;
    for (int block = 0; block < of->num_blocks; block++)
        p = plain_block(x, p, of, tokens);
    for (int i = 0; i < tokens; i++)
        for (int c = 0; c < C; c++)
            mean[c] += x[i][c] / tokens;
    plain_linear(logits, mean, p, C, of->num_classes);
    double sum = 0;
    for (int n = 0; n < of->num_classes; n++)
        sum += exp(logits[n]);
    return log(sum) - logits[label];
}

/* Return the loss of a batch, each sequence weighted by `scale`. */
static double plain_loss(const double *p, const struct model *model, const struct batch *batch)
{
    const struct transformer_settings *of = &model->workload.of.transformer;
    double loss = 0;
    for (int t = 0; t < batch->samples; t++) {
        const struct sequence *text = &batch->sequence[t];
        loss += plain_text_loss(p, of, batch->token + text->first, text->tokens, batch->labels[t]);
    }
    return loss * (double)batch->scale;
}

/* --- the model --------------------------------------------------------------------------------------------------- */

TEST(the_published_model_has_its_size)
{
    struct workload workload = published_transformer;
    assert_int_equal(workload_parameters(&workload), 412960);
    assert_int_equal(workload_layer_parameters(&workload, 0), 393216);
    assert_int_equal(workload_layer_parameters(&workload, 2), 784);
    assert_true(fabs(workload_gradient_bytes(&workload) - 1651840) < 0.5);
    /* per token 6 x 8 C^2; per pair of tokens 12 C */
    struct work work = { .padded_tokens = 1024, .padded_token_length = 8 * 128 * 128 };
    double flops = 1024.0 * 6 * 8 * 48 * 48 + 8.0 * 128 * 128 * 12 * 48;
    assert_true(fabs(workload_flops(&workload, work) - flops) < 0.5);
    workload.of.transformer.num_blocks = 3;
    assert_int_equal(workload_parameters(&workload), 412960 + 2 * (412960 - 393216 - 784));
    assert_true(fabs(workload_flops(&workload, work) - 3 * flops) < 0.5);
}

/* Return where a group begins in the parameters of a model; of a block, in the first one. */
static size_t offset(const struct model *model, enum transformer_group group)
{
    int layer = group == EMBEDDING ? 0 : group < CLASS_WEIGHT ? 1 : model->layers - 1;
    return model->layer[layer].first + transformer_offset(&model->workload.of.transformer, group);
}

/* Return where it ends. */
static size_t offset_behind(const struct model *model, enum transformer_group group)
{
    static const enum transformer_group last[] = { EMBEDDING, DOWN_BIAS, CLASS_BIAS };
    for (size_t i = 0; i < sizeof last / sizeof *last; i++)
        if (group == last[i]) {
            const struct model_layer *layer = &model->layer[i == 2 ? model->layers - 1 : (int)i];
            return layer->first + layer->count;
        }
    return offset(model, group + 1);
}

static void expect_filled(const struct model *model, const float *p, enum transformer_group group, double bound)
{
    double least = 1, most = -1;
    for (size_t i = offset(model, group); i < offset_behind(model, group); i++) {
        least = fmin(least, (double)p[i]);
        most = fmax(most, (double)p[i]);
    }
    assert_true(-bound <= least && least < -0.7 * bound && 0.7 * bound < most && most <= bound);
}

TEST(parameters_start_as_in_pytorch)
{
    /* Another seed: the published one's 16 class biases happen to stay far below their upper bound. */
    struct model *model = model_open(&published_transformer, 0, (struct batch_most){ 1, 1, 1 });
    const float *p = model->parameters;
    double sum = 0, squares = 0, words = (double)offset(model, NORM1_WEIGHT);
    for (size_t i = 0; i < offset(model, NORM1_WEIGHT); i++) {
        sum += (double)p[i];
        squares += (double)p[i] * (double)p[i];
    }
    assert_true(fabs(sum / words) < 0.01 && fabs(squares / words - 1) < 0.01);
    static const enum transformer_group norms[] = { NORM1_WEIGHT, NORM1_BIAS, NORM2_WEIGHT, NORM2_BIAS };
    for (int i = 0; i < 4 * 48; i++)
        assert_true(fabsf(p[offset(model, norms[i / 48]) + (size_t)(i % 48)] - (i / 48 % 2 == 0)) <= 0);
    static const enum transformer_group of_width[] = { QKV_WEIGHT, QKV_BIAS, JOIN_WEIGHT,  JOIN_BIAS,
                                                       UP_WEIGHT,  UP_BIAS,  CLASS_WEIGHT, CLASS_BIAS };
    for (size_t i = 0; i < sizeof of_width / sizeof *of_width; i++)
        expect_filled(model, p, of_width[i], 1 / sqrt(48));
    expect_filled(model, p, DOWN_WEIGHT, 1 / sqrt(96));
    expect_filled(model, p, DOWN_BIAS, 1 / sqrt(96));
    model_close(model);
}

/* Check every `stride`-th gradient from `begin` to `end`. The tolerance is relative to the largest of them. */
static void expect_slopes_between(const struct model *model, size_t begin, size_t end, double *p,
                                  const struct batch *batch, size_t stride)
{
    float largest = 1e-3f;
    for (size_t i = begin; i < end; i++)
        largest = fmaxf(largest, fabsf(model->gradients[i]));
    for (size_t i = begin; i < end; i += stride) {
        double exact = slope_of(plain_loss, p, i, model, batch);
        expect_within("gradient", 1e-5 * (double)largest, &model->gradients[i], &exact, 1);
    }
}

static void expect_slopes(struct model *model, const struct batch *batch, size_t stride)
{
    size_t count = model->count;
    double *p = memory_new(count, sizeof *p);
    for (size_t i = 0; i < count; i++)
        p[i] = (double)model->parameters[i];
    memset(model->gradients, 0xff, count * sizeof(float));
    model_forward(model, batch);
    double loss = model_loss(model, 1) * batch->samples * (double)batch->scale;
    double exact_loss = plain_loss(p, model, batch);
    assert_true(fabs(loss - exact_loss) <= 2e-6 * (1 + exact_loss));
    model_backward(model, batch);
    size_t in_block = 0; /* from the begin of the first block to the begin of the one that is checked */
    for (int block = 0; block < model->layers - 2; block++, in_block += model->layer[1].count)
        for (int i = 0; i < TRANSFORMER_GROUPS; i++) {
            enum transformer_group group = (enum transformer_group)i;
            bool is_in_block = group != EMBEDDING && group < CLASS_WEIGHT;
            if (is_in_block || block == 0)
                expect_slopes_between(model, offset(model, group) + in_block, offset_behind(model, group) + in_block, p,
                                      batch, stride);
        }
    free(p);
}

struct layout {
    int texts, length[MOST_TEXTS];
};

static const struct layout layouts[] = {
    { 1, { 1 } },       /* one sequence of one token, which attends only to itself */
    { 1, { 17 } },      /* one more than a tile */
    { 3, { 6, 6, 6 } }, /* nothing to pad */
    { 5, { 1, 16, 7, 40, 33 } },
};

static void expect_slopes_everywhere(const struct transformer_settings *of, size_t stride)
{
    struct model *model = stirred_model(of, MOST_TEXTS * MOST_TOKENS, MOST_TEXTS, MOST_TOKENS);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        for (int packed = 0; packed < 2; packed++) {
            struct batch batch = lay_out(layouts[i].length, layouts[i].texts, packed, of);
            expect_slopes(model, &batch, stride);
            drop(&batch);
        }
    model_close(model);
}

TEST(gradients_agree_with_finite_differences)
{
    struct transformer_settings odd = {
        .vocab_size = 11, .hidden_dim = 6, .num_heads = 2, .num_classes = 5, .num_blocks = 1
    };
    expect_slopes_everywhere(&odd, 1);
    odd.num_blocks = 3;
    expect_slopes_everywhere(&odd, 29);
    struct transformer_settings wide = {
        .vocab_size = 50, .hidden_dim = 48, .num_heads = 4, .num_classes = 16, .num_blocks = 1
    };
    expect_slopes_everywhere(&wide, 211);
}

TEST(packed_and_padded_batches_agree)
{
    static const int length[MOST_TEXTS] = { 75, 218, 190, 181, 64, 199, 164, 104 }; /* first of the published recipe */
    const struct transformer_settings *of = &published_transformer.of.transformer;
    struct model *model = open_model(of, MOST_TEXTS * 218, MOST_TEXTS, 218);
    size_t count = model->count;
    double *padded_gradients = memory_new(count, sizeof(double));
    struct batch padded = lay_out(length, MOST_TEXTS, false, of);
    struct batch packed = lay_out(length, MOST_TEXTS, true, of);
    assert_int_equal(padded.rows, MOST_TEXTS * 218);
    assert_int_equal(packed.rows, 75 + 218 + 190 + 181 + 64 + 199 + 164 + 104);
    model_forward(model, &padded);
    double padded_loss = model_loss(model, 1);
    model_backward(model, &padded);
    for (size_t i = 0; i < count; i++)
        padded_gradients[i] = (double)model->gradients[i];
    model_forward(model, &packed);
    double packed_loss = model_loss(model, 1);
    model_backward(model, &packed);
    assert_true(fabs(padded_loss - packed_loss) <= 1e-6 * padded_loss);
    for (int group = 0; group < TRANSFORMER_GROUPS; group++) {
        size_t begin = offset(model, (enum transformer_group)group);
        int size = (int)(offset_behind(model, (enum transformer_group)group) - begin);
        expect_close("packed gradient", 1e-4, model->gradients + begin, padded_gradients + begin, size);
    }
    assert_true(batch_work(&packed).padded_token_length < batch_work(&padded).padded_token_length);
    drop(&padded);
    drop(&packed);
    free(padded_gradients);
    model_close(model);
}

static double train(struct model *model, struct adamw *optimizer, const struct batch *batch, int steps)
{
    model_restart(model);
    adamw_restart(optimizer);
    for (int step = 0; step < steps; step++) {
        model_forward(model, batch);
        model_backward(model, batch);
        adamw_update(optimizer, model->parameters, model->gradients);
    }
    return model_loss(model, 1);
}

TEST(training_lowers_the_loss_and_repeats_to_the_bit)
{
    static const int length[] = { 20, 33, 9, 16 };
    const struct transformer_settings *of = &published_transformer.of.transformer;
    struct model *model = open_model(of, 4 * 33, 4, 33);
    size_t count = model->count;
    assert_true(isnan(model->gradients[0]) && isnan(model->gradients[count - 1]));
    struct adamw *optimizer = adamw_open(WORK_TRANSFORMER, count, 2e-3);
    struct batch batch = lay_out(length, 4, false, of);
    float *once = memory_new(count, sizeof *once), *start = memory_new(count, sizeof *start);
    memcpy(start, model->parameters, count * sizeof *start);
    double first = train(model, optimizer, &batch, 1), last = train(model, optimizer, &batch, 10);
    memcpy(once, model->parameters, count * sizeof *once);
    assert_true(fabs(first - log(16)) < 0.5); /* the first loss is that of guessing among 16 classes */
    assert_true(last < 0.5 * first);
    double again = train(model, optimizer, &batch, 10);
    assert_memory_equal(&again, &last, sizeof last);
    assert_memory_equal(once, model->parameters, count * sizeof *once);
    model_restart(model);
    assert_memory_equal(start, model->parameters, count * sizeof *start);
    free(once);
    free(start);
    drop(&batch);
    adamw_close(optimizer);
    model_close(model);
}

/* --- the device's operations ------------------------------------------------------------------------------------- */

static const int widths[] = { 3, 5, 16, 31, 48 };
enum { WIDTHS = sizeof widths / sizeof *widths, ROWS = 13 };

TEST_ON_HEAP(rows_are_gathered_and_scattered)
{
    enum { TABLE = 7 };
    struct heap *heap = *state;
    for (int w = 0; w < WIDTHS; w++, drop_all(heap)) {
        int N = widths[w];
        int32_t index[ROWS];
        float *table = random_floats(heap, TABLE * N), *x = poisoned_floats(heap, ROWS * N);
        float *sums = poisoned_floats(heap, TABLE * N);
        double *exact = new_doubles(heap, TABLE * N);
        for (int b = 0; b < ROWS; b++)
            index[b] = (int32_t)random_below(&heap->random, TABLE - 1); /* no index points to the last row */
        device_gather(x, table, index, ROWS, N);
        device_scatter(sums, TABLE, x, index, ROWS, N);
        for (int i = 0; i < ROWS * N; i++) {
            int from = index[i / N] * N + i % N;
            assert_memory_equal(&x[i], &table[from], sizeof *x);
            exact[from] += (double)x[i];
        }
        expect_close("scattered sum", 1e-6, sums, exact, TABLE * N);
    }
}

TEST_ON_HEAP(a_residual_adds_branch_and_bias)
{
    struct heap *heap = *state;
    for (int w = 0; w < WIDTHS; w++, drop_all(heap)) {
        int N = widths[w], cells = ROWS * N;
        float *x = random_floats(heap, cells), *beside = random_floats(heap, cells), *bias = random_floats(heap, N);
        double *exact = new_doubles(heap, cells);
        for (int i = 0; i < cells; i++)
            exact[i] = (double)x[i] + (double)beside[i] + (double)bias[i % N];
        device_residual(x, beside, bias, ROWS, N);
        expect_close("residual", 1e-6, x, exact, cells);
    }
}

/* Return the derivative of plain_norm(x) . back with respect to `*at`, an element of x or p. Row x and `back` have N
 * elements; weight and bias are at p (2N). */
static double norm_slope(const double *back, const double *x, const double *p, int N, double *at)
{
    const double h = 1e-6;
    double held = *at, sum = 0;
    for (int side = -1; side <= 1; side += 2) {
        row_of out;
        *at = held + side * h;
        plain_norm(out, x, p, N);
        for (int n = 0; n < N; n++)
            sum += side * back[n] * out[n];
    }
    *at = held;
    return sum / (2 * h);
}

/* Compute y (N) of one row. Add the gradient of the row to d (N), and that of weight and bias at p (2N) to dp (2N). */
static void plain_norm_back(double *y, double *d, double *dp, const float *x, const float *back, double *p, int N)
{
    row_of row, from;
    for (int n = 0; n < N; n++) {
        row[n] = (double)x[n];
        from[n] = (double)back[n];
    }
    plain_norm(y, row, p, N);
    for (int n = 0; n < N; n++)
        d[n] += norm_slope(from, row, p, N, &row[n]);
    for (int n = 0; n < 2 * N; n++)
        dp[n] += norm_slope(from, row, p, N, &p[n]);
}

TEST_ON_HEAP(layer_norm_follows_its_formula)
{
    struct heap *heap = *state;
    for (int w = 0; w < WIDTHS; w++, drop_all(heap)) {
        int N = widths[w], cells = ROWS * N;
        float *x = random_floats(heap, cells), *back = random_floats(heap, cells), *d = random_floats(heap, cells);
        float *p = random_floats(heap, 2 * N), *y = poisoned_floats(heap, cells);
        float *moments = poisoned_floats(heap, 2 * ROWS), *dp = poisoned_floats(heap, 2 * N);
        double *exact_y = new_doubles(heap, cells), *exact_d = new_doubles(heap, cells);
        row_of exact_p, exact_dp = { 0 };
        for (int n = 0; n < 2 * N; n++)
            exact_p[n] = (double)p[n];
        for (int i = 0; i < cells; i++) {
            x[i] += 3; /* a mean far from zero */
            exact_d[i] = (double)d[i];
        }
        for (int at = 0; at < cells; at += N)
            plain_norm_back(exact_y + at, exact_d + at, exact_dp, x + at, back + at, exact_p, N);
        device_layer_norm(y, moments, x, p, p + N, ROWS, N);
        device_layer_norm_back(d, dp, dp + N, back, x, moments, p, ROWS, N);
        expect_close("layer norm", 3e-6, y, exact_y, cells);
        expect_close("its gradient", 3e-5, d, exact_d, cells);
        expect_close("gradient of weight and bias", 3e-6, dp, exact_dp, 2 * N);
    }
}

TEST_ON_HEAP(the_mean_leaves_padding_out)
{
    static const struct sequence text[] = { { 0, 1, 5 }, { 5, 3, 3 }, { 8, 4, 5 } };
    struct heap *heap = *state;
    for (int w = 0; w < WIDTHS; w++, drop_all(heap)) {
        int N = widths[w];
        float *x = random_floats(heap, ROWS * N), *mean = poisoned_floats(heap, 3 * N);
        float *d = poisoned_floats(heap, ROWS * N);
        double *exact_mean = new_doubles(heap, 3 * N), *exact_d = new_doubles(heap, ROWS * N);
        device_mean_pool(mean, x, text, 3, N);
        device_mean_pool_back(d, mean, text, 3, N);
        for (int t = 0; t < 3; t++)
            for (int i = 0; i < text[t].tokens * N; i++) {
                exact_mean[t * N + i % N] += (double)x[text[t].first * N + i] / text[t].tokens;
                exact_d[text[t].first * N + i] = (double)mean[t * N + i % N] / text[t].tokens;
            }
        expect_close("mean", 1e-6, mean, exact_mean, 3 * N);
        expect_close("gradient of the mean", 1e-6, d, exact_d, ROWS * N);
    }
}

/* Attention of one sequence and head, forward and backward. Rows of q, k, v and their gradients are `pitch` apart, rows
 * of out and its gradient d `out_pitch`. */
struct plain_head {
    const double *q, *k, *v, *d;
    double *dq, *dk, *dv, *out;
    int pitch, out_pitch, D;
};

static void plain_query_back(const struct plain_head *h, int i, int tokens)
{
    double p[MOST_TOKENS], dp[MOST_TOKENS], sum = 0, mean = 0;
    plain_attention(h->out + i * h->out_pitch, h->q, h->k, h->v, h->pitch, i, tokens, h->D);
    for (int j = 0; j < tokens; j++) {
        double score = dp[j] = 0;
        for (int c = 0; c < h->D; c++) {
            score += h->q[i * h->pitch + c] * h->k[j * h->pitch + c] / sqrt(h->D);
            dp[j] += h->d[i * h->out_pitch + c] * h->v[j * h->pitch + c];
        }
        sum += p[j] = exp(score);
    }
    for (int j = 0; j < tokens; j++)
        mean += p[j] / sum * dp[j];
    for (int j = 0; j < tokens; j++)
        for (int c = 0; c < h->D; c++) {
            double ds = p[j] / sum * (dp[j] - mean) / sqrt(h->D);
            h->dq[i * h->pitch + c] += ds * h->k[j * h->pitch + c];
            h->dk[j * h->pitch + c] += ds * h->q[i * h->pitch + c];
            h->dv[j * h->pitch + c] += p[j] / sum * h->d[i * h->out_pitch + c];
        }
}

/* Compute attention and its gradient. Shapes as in struct attention: projected and back (B,3HD), d and out (B,HD). */
static void plain_attention_back(double *out, double *back, const double *projected, const double *d,
                                 const struct attention *a)
{
    int width = a->heads * a->head_width, wide = 3 * width;
    for (int t = 0; t < a->texts; t++)
        for (int head = 0; head < a->heads; head++) {
            const double *from = projected + a->text[t].first * wide + head * a->head_width;
            double *to = back + a->text[t].first * wide + head * a->head_width;
            int at = a->text[t].first * width + head * a->head_width;
            struct plain_head plain = {
                from, from + width, from + 2 * width, d + at, to, to + width, to + 2 * width, out + at,
                wide, width,        a->head_width,
            };
            for (int i = 0; i < a->text[t].extent; i++)
                plain_query_back(&plain, i, a->text[t].tokens);
        }
}

static void expect_attention(struct heap *heap, const struct sequence *text, int texts, int heads, int D)
{
    int rows = text[texts - 1].first + text[texts - 1].extent;
    int cells = rows * heads * D, scratch = (int)device_attention_scratch(MOST_TOKENS);
    float *projected = random_floats(heap, 3 * cells), *bias = random_floats(heap, 3 * heads * D);
    float *d = random_floats(heap, cells), *back = poisoned_floats(heap, 3 * cells);
    struct attention attention = { text,
                                   texts,
                                   MOST_TOKENS,
                                   heads,
                                   D,
                                   projected,
                                   bias,
                                   poisoned_floats(heap, cells),
                                   poisoned_floats(heap, rows * heads),
                                   poisoned_floats(heap, scratch) };
    double *biased = new_doubles(heap, 3 * cells), *exact_d = new_doubles(heap, cells);
    double *exact_out = new_doubles(heap, cells), *exact_back = new_doubles(heap, 3 * cells);
    for (int i = 0; i < 3 * cells; i++)
        biased[i] = (double)projected[i] + (double)bias[i % (3 * heads * D)];
    for (int i = 0; i < cells; i++)
        exact_d[i] = (double)d[i];
    plain_attention_back(exact_out, exact_back, biased, exact_d, &attention);
    device_attention(&attention);
    memset(attention.scratch, 0xff, (size_t)scratch * sizeof(float));
    device_attention_back(back, d, &attention);
    expect_close("attention", 5e-6, attention.out, exact_out, cells);
    expect_close("gradient of attention", 1e-5, back, exact_back, 3 * cells);
    drop_all(heap);
}

TEST_ON_HEAP(attention_keeps_to_its_text_and_to_valid_keys)
{
    static const struct sequence one[] = { { 0, 1, 1 } };
    static const struct sequence padded[] = { { 0, 1, 17 }, { 17, 17, 17 }, { 34, 9, 17 } };
    static const struct sequence packed[] = { { 0, 4, 4 }, { 4, 33, 33 }, { 37, 15, 15 }, { 52, 32, 40 } };
    static const int head_widths[] = { 1, 3, 12, DEVICE_LANES };
    for (size_t i = 0; i < sizeof head_widths / sizeof *head_widths; i++)
        for (int heads = 1; heads <= 3; heads++) {
            expect_attention(*state, one, 1, heads, head_widths[i]);
            expect_attention(*state, padded, 3, heads, head_widths[i]);
            expect_attention(*state, packed, 4, heads, head_widths[i]);
        }
}

/* Use three keys with scores 0, 500 and -500, and a masked key with score 1000. */
TEST_ON_HEAP(attention_survives_extreme_scores)
{
    struct heap *heap = *state;
    static const struct sequence text[] = { { 0, 3, 4 } };
    static const float projected[] = { 1, 0, 2, 1, 500, 3, 1, -500, 4, 1, 1000, 5 }, bias[3], d[] = { 1, 1, 1, 1 };
    float *scratch = poisoned_floats(heap, (int)device_attention_scratch(4));
    float out[4], log_sum[4], back[12];
    struct attention attention = { text, 1, 4, 1, 1, projected, bias, out, log_sum, scratch };
    device_attention(&attention);
    device_attention_back(back, d, &attention);
    for (int i = 0; i < 4; i++) {
        assert_true(fabsf(out[i] - 3) < 1e-6f && fabsf(log_sum[i] - 500) < 1e-3f);
        assert_true(fabsf(back[3 * i]) < 1e-3f && fabsf(back[3 * i + 1]) < 1e-3f);
        assert_true(fabsf(back[3 * i + 2] - (i == 1 ? 4.0f : 0.0f)) < 1e-3f);
    }
    drop_all(heap);
}

AROUND_TESTS(open_device, NULL)
