/* Operations that only transformers need, on a CPU. */
#include "device/device.h"
#include "device/device_cpu.h"

#include <math.h>

WIDE void device_gather(float *restrict out, const float *restrict table, const int32_t *restrict index, int B, int N)
{
    size_t bytes = (size_t)N * sizeof *out;
    for (int b = 0; b < B; b++)
        memcpy(out + (size_t)b * (size_t)N, table + (size_t)index[b] * (size_t)N, bytes);
}

WIDE void device_scatter(float *restrict out, int rows, const float *restrict x, const int32_t *restrict index, int B,
                         int N)
{
    memset(out, 0, (size_t)rows * (size_t)N * sizeof *out);
    for (int b = 0; b < B; b++) {
        float *restrict row = out + (size_t)index[b] * (size_t)N;
        for (int n = 0; n < N; n++)
            row[n] += x[(size_t)b * (size_t)N + (size_t)n];
    }
}

WIDE void device_residual(float *restrict x, const float *restrict beside, const float *restrict bias, int B, int N)
{
    for (int b = 0; b < B; b++)
        for (int n = 0; n < N; n++) {
            size_t i = (size_t)b * (size_t)N + (size_t)n;
            x[i] += beside[i] + bias[n];
        }
}

WIDE void device_layer_norm(float *restrict y, float *restrict moments, const float *restrict x,
                            const float *restrict weight, const float *restrict bias, int B, int N)
{
    const float part = 1.0f / (float)N;
    for (int b = 0; b < B; b++) {
        const float *restrict row = x + (size_t)b * (size_t)N;
        float *restrict out = y + (size_t)b * (size_t)N;
        float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
        for (int n = 0; n < N; n++)
            sum += row[n];
        float mean = sum * part;
#pragma omp simd reduction(+ : squares)
        for (int n = 0; n < N; n++)
            squares += (row[n] - mean) * (row[n] - mean);
        float rescale = 1.0f / sqrtf(squares * part + 1e-5f);
        for (int n = 0; n < N; n++)
            out[n] = (row[n] - mean) * rescale * weight[n] + bias[n];
        moments[2 * b] = mean;
        moments[2 * b + 1] = rescale;
    }
}

WIDE void device_layer_norm_back(float *restrict d, float *restrict weight_gradient, float *restrict bias_gradient,
                                 const float *restrict back, const float *restrict x, const float *restrict moments,
                                 const float *restrict weight, int B, int N)
{
    const float part = 1.0f / (float)N;
    memset(weight_gradient, 0, (size_t)N * sizeof *weight_gradient);
    memset(bias_gradient, 0, (size_t)N * sizeof *bias_gradient);
    for (int b = 0; b < B; b++) {
        size_t first = (size_t)b * (size_t)N;
        const float *restrict from = back + first, *restrict row = x + first;
        float *restrict to = d + first;
        float mean = moments[2 * b], rescale = moments[2 * b + 1];
        float sum = 0, along = 0;
#pragma omp simd reduction(+ : sum, along)
        for (int n = 0; n < N; n++) {
            float normal = (row[n] - mean) * rescale;
            sum += from[n] * weight[n];
            along += from[n] * weight[n] * normal;
            weight_gradient[n] += from[n] * normal;
            bias_gradient[n] += from[n];
        }
        for (int n = 0; n < N; n++)
            to[n] += rescale * (from[n] * weight[n] - part * (sum + along * (row[n] - mean) * rescale));
    }
}

WIDE void device_mean_pool(float *restrict out, const float *restrict x, const struct sequence *restrict text,
                           int texts, int N)
{
    for (int t = 0; t < texts; t++) {
        float *restrict mean = out + (size_t)t * (size_t)N;
        const float *restrict rows = x + (size_t)text[t].first * (size_t)N;
        device_column_sums(mean, rows, text[t].tokens, N);
        device_scale(mean, mean, 1.0f / (float)text[t].tokens, (size_t)N);
    }
}

WIDE void device_mean_pool_back(float *restrict d, const float *restrict back, const struct sequence *restrict text,
                                int texts, int N)
{
    for (int t = 0; t < texts; t++)
        for (int row = 0; row < text[t].extent; row++) {
            float share = row < text[t].tokens ? 1.0f / (float)text[t].tokens : 0.0f;
            float *restrict to = d + (size_t)(text[t].first + row) * (size_t)N;
            device_scale(to, back + (size_t)t * (size_t)N, share, (size_t)N);
        }
}

/* Attention, for DEVICE_LANES queries of one head of one sequence at a time, so that all data stay in the nearest
 * caches. Scratch matrices have DEVICE_LANES columns and hold zeros beyond D and beyond the sequence. Each loop over
 * columns is therefore as wide as a vector, without remainder. A tile is (keys, queries): each query stays in its lane,
 * and no sum crosses lanes. */
enum { LANES = DEVICE_LANES, BLOCK = 4 };

struct head {
    int rows;        /* rows of the sequence */
    int padded_rows; /* `rows`, rounded up to whole tiles */
    int width;       /* D */
    float *q, *k, *v, *dk, *dv;
    float *p, *dp;                          /* tiles (keys, queries) */
    float *q_transposed, *d, *d_transposed; /* (LANES,LANES); transposed: a query per column */
    float *result;                          /* (LANES,LANES), of one tile */
};

int device_attention_queries(int extent)
{
    return (extent + LANES - 1) / LANES * LANES;
}

size_t device_attention_scratch(int most_length)
{
    return (7 * (size_t)device_attention_queries(most_length) + 4 * LANES) * LANES;
}

static struct head divide_scratch(const struct attention *a, const struct sequence *text)
{
    int padded_rows = device_attention_queries(text->extent);
    struct head head = { .rows = text->extent, .padded_rows = padded_rows, .width = a->head_width };
    float **parts[] = { &head.q, &head.k, &head.v, &head.dk, &head.dv, &head.p, &head.dp };
    float *next = a->scratch;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++, next += (size_t)padded_rows * LANES)
        *parts[i] = next;
    float **squares[] = { &head.q_transposed, &head.d, &head.d_transposed, &head.result };
    for (size_t i = 0; i < sizeof squares / sizeof *squares; i++, next += (size_t)LANES * LANES)
        *squares[i] = next;
    return head;
}

static inline void store_lanes(float *restrict out, const float *restrict row, bool accumulate)
{
    if (accumulate)
        for (int n = 0; n < LANES; n++)
            out[n] += row[n];
    else
        memcpy(out, row, LANES * sizeof *out);
}

/* out (M,LANES) = x y, or out += x y if `accumulate`. Element (m,k) of x (M,K) is at m * by_row + k * by_column; y is
 * (K,LANES). M is a multiple of BLOCK. All products of attention have this form. */
WIDE static void multiply_narrow(float *restrict out, bool accumulate, const float *restrict x, int by_row,
                                 int by_column, const float *restrict y, int M, int K)
{
    for (int m = 0; m < M; m += BLOCK, out += BLOCK * LANES, x += BLOCK * by_row) {
        float sum0[LANES] = { 0 }, sum1[LANES] = { 0 }, sum2[LANES] = { 0 }, sum3[LANES] = { 0 };
        const float *left = x, *right = y;
        for (int k = 0; k < K; k++, left += by_column, right += LANES)
            for (int n = 0; n < LANES; n++) {
                sum0[n] += left[0] * right[n];
                sum1[n] += left[by_row] * right[n];
                sum2[n] += left[2 * by_row] * right[n];
                sum3[n] += left[3 * by_row] * right[n];
            }
        store_lanes(out, sum0, accumulate);
        store_lanes(out + LANES, sum1, accumulate);
        store_lanes(out + 2 * LANES, sum2, accumulate);
        store_lanes(out + 3 * LANES, sum3, accumulate);
    }
}

/* out (padded_rows,LANES) = (x + bias) * factor for `rows` rows and `width` columns, and 0 elsewhere. Rows of x are
 * `pitch` floats apart. */
WIDE static void pack(float *restrict out, const float *restrict x, size_t pitch, const float *restrict bias,
                      float factor, int rows, int padded_rows, int width)
{
    memset(out, 0, (size_t)padded_rows * LANES * sizeof *out);
    for (int row = 0; row < rows; row++)
        for (int n = 0; n < width; n++)
            out[row * LANES + n] = (x[(size_t)row * pitch + (size_t)n] + bias[n]) * factor;
}

/* Undo pack(): out = x * factor, with rows of out `pitch` floats apart. */
WIDE static void unpack(float *restrict out, size_t pitch, const float *restrict x, float factor, int rows, int width)
{
    for (int row = 0; row < rows; row++)
        for (int n = 0; n < width; n++)
            out[(size_t)row * pitch + (size_t)n] = x[row * LANES + n] * factor;
}

/* out = x^T, both (LANES,LANES) */
WIDE static void transpose(float *restrict out, const float *restrict x)
{
    for (int n = 0; n < LANES; n++)
        for (int m = 0; m < LANES; m++)
            out[n * LANES + m] = x[m * LANES + n];
}

/* most (LANES) = largest score of each query, without padding */
WIDE static void column_max(float *restrict most, const float *restrict tile, int tokens)
{
    float best[LANES];
    for (int n = 0; n < LANES; n++)
        best[n] = tile[n];
    for (int key = 1; key < tokens; key++)
        for (int n = 0; n < LANES; n++)
            best[n] = tile[key * LANES + n] > best[n] ? tile[key * LANES + n] : best[n];
    memcpy(most, best, sizeof best);
}

/* Replace scores by e^(score - base), with a base (LANES) for each query; mask those of padding. */
WIDE static void exponentiate(float *restrict tile, const float *restrict base, int rows, int tokens)
{
    for (int key = 0; key < rows; key++)
        for (int n = 0; n < LANES; n++)
            tile[key * LANES + n] = fast_exp(tile[key * LANES + n] - base[n]);
    memset(tile + (size_t)tokens * LANES, 0, (size_t)(rows - tokens) * LANES * sizeof *tile);
}

/* sum (LANES) = column sums */
WIDE static void sum_tile(float *restrict sum, const float *restrict tile, int rows)
{
    float all[LANES] = { 0 };
    for (int key = 0; key < rows; key++)
        for (int n = 0; n < LANES; n++)
            all[n] += tile[key * LANES + n];
    memcpy(sum, all, sizeof all);
}

/* Replace the gradient of the probabilities, dp, by that of the scores: p (dp - the query's mean of dp). */
WIDE static void softmax_back(float *restrict dp, const float *restrict p, const float *restrict mean, int rows)
{
    for (int key = 0; key < rows; key++)
        for (int n = 0; n < LANES; n++)
            dp[key * LANES + n] = p[key * LANES + n] * (dp[key * LANES + n] - mean[n]);
}

static const float no_bias[LANES];

/* Return where a head's columns begin in a sequence's first row. `part` is 0 for queries, 1 for keys, 2 for values. */
static size_t place_in_projected(const struct attention *a, const struct sequence *text, int part, int head)
{
    size_t width = (size_t)a->heads * (size_t)a->head_width;
    return (size_t)text->first * 3 * width + (size_t)part * width + (size_t)(head * a->head_width);
}

static size_t place_in_out(const struct attention *a, int row, int head)
{
    return ((size_t)row * (size_t)a->heads + (size_t)head) * (size_t)a->head_width;
}

static void pack_head(const struct head *h, const struct attention *a, const struct sequence *text, int head)
{
    size_t pitch = 3 * (size_t)a->heads * (size_t)h->width;
    float *to[] = { h->q, h->k, h->v };
    for (int part = 0; part < 3; part++)
        pack(to[part], a->projected + place_in_projected(a, text, part, head), pitch,
             a->bias + (part * a->heads + head) * h->width, part == 0 ? 1 / sqrtf((float)h->width) : 1, h->rows,
             h->padded_rows, h->width);
}

/* Fill tile p with the scores of the LANES queries from `query` on. */
static void score(const struct head *h, int query)
{
    transpose(h->q_transposed, h->q + (size_t)query * LANES);
    multiply_narrow(h->p, false, h->k, LANES, 1, h->q_transposed, h->padded_rows, h->width);
}

static int queries_in_tile(const struct head *h, int query)
{
    return h->rows - query < LANES ? h->rows - query : LANES;
}

static void attend_tile(const struct head *h, const struct attention *a, const struct sequence *text, int head,
                        int query)
{
    float most[LANES], sum[LANES];
    score(h, query);
    column_max(most, h->p, text->tokens);
    exponentiate(h->p, most, h->rows, text->tokens);
    sum_tile(sum, h->p, text->tokens);
    multiply_narrow(h->result, false, h->p, 1, LANES, h->v, LANES, h->rows);
    for (int n = 0; n < queries_in_tile(h, query); n++) {
        int row = text->first + query + n;
        unpack(a->out + place_in_out(a, row, head), 0, h->result + n * LANES, 1 / sum[n], 1, h->width);
        a->log_sum[row * a->heads + head] = most[n] + logf(sum[n]);
    }
}

void device_attention(const struct attention *a)
{
    for (int t = 0; t < a->texts; t++) {
        struct head h = divide_scratch(a, &a->text[t]);
        for (int head = 0; head < a->heads; head++) {
            pack_head(&h, a, &a->text[t], head);
            for (int query = 0; query < h.rows; query += LANES)
                attend_tile(&h, a, &a->text[t], head, query);
        }
    }
}

/* Fill, per query, the log of its sum and the mean of its probabilities' gradients, which is d . out. Both are 0 beyond
 * the sequence, where d is 0 and contributes nothing. */
static void load_query_stats(float *log_sum, float *mean, const struct head *h, const struct attention *a, int head,
                             int row, int queries)
{
    for (int n = 0; n < LANES; n++) {
        log_sum[n] = n < queries ? a->log_sum[(row + n) * a->heads + head] : 0;
        mean[n] = 0;
        for (int c = 0; n < queries && c < h->width; c++)
            mean[n] += h->d[n * LANES + c] * a->out[place_in_out(a, row + n, head) + (size_t)c];
    }
}

static void attend_tile_back(float *dq, const float *d, const struct head *h, const struct attention *a,
                             const struct sequence *text, int head, int query)
{
    float log_sum[LANES], mean[LANES];
    size_t width = (size_t)a->heads * (size_t)h->width;
    int row = text->first + query, queries = queries_in_tile(h, query);
    pack(h->d, d + place_in_out(a, row, head), width, no_bias, 1, queries, LANES, h->width);
    transpose(h->d_transposed, h->d);
    load_query_stats(log_sum, mean, h, a, head, row, queries);
    score(h, query);
    exponentiate(h->p, log_sum, h->rows, text->tokens);
    multiply_narrow(h->dp, false, h->v, LANES, 1, h->d_transposed, h->padded_rows, h->width);
    softmax_back(h->dp, h->p, mean, h->rows);
    multiply_narrow(h->result, false, h->dp, 1, LANES, h->k, LANES, h->rows);
    unpack(dq + (size_t)query * 3 * width, 3 * width, h->result, 1 / sqrtf((float)h->width), queries, h->width);
    multiply_narrow(h->dk, query > 0, h->dp, LANES, 1, h->q + (size_t)query * LANES, h->padded_rows, LANES);
    multiply_narrow(h->dv, query > 0, h->p, LANES, 1, h->d, h->padded_rows, LANES);
}

void device_attention_back(float *back, const float *d, const struct attention *a)
{
    size_t pitch = 3 * (size_t)a->heads * (size_t)a->head_width;
    for (int t = 0; t < a->texts; t++) {
        const struct sequence *text = &a->text[t];
        struct head h = divide_scratch(a, text);
        for (int head = 0; head < a->heads; head++) {
            pack_head(&h, a, text, head);
            for (int query = 0; query < h.rows; query += LANES)
                attend_tile_back(back + place_in_projected(a, text, 0, head), d, &h, a, text, head, query);
            unpack(back + place_in_projected(a, text, 1, head), pitch, h.dk, 1, h.rows, h.width);
            unpack(back + place_in_projected(a, text, 2, head), pitch, h.dv, 1, h.rows, h.width);
        }
    }
}
