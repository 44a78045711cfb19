/* test_device.c: compare the CUDA device with the CPU's, and with sums in double precision where these are cheap. Tests every
 * operation, at sizes that are no multiples of a vector, warp or block, with NaN in the output memory. Results must have the
 * same bits in any execution order. Also tests clock, copies and precisions.
 *
 *     test_device CPU_MODULE [bits]
 *
 * CPU_MODULE is a shared library of device_cpu.c and device_cpu_transformer.c. `bits` only prints a digest of all results.
 * Exits with 77 without a GPU. */
#include "base/memory.h"
#include "base/random.h"
#include "device/device.h"
#include "device/device_cuda.h"
#include "gpu/beside_cpu.h"
#include "support/unit.h"
#include "world/world.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- arrays in both memories ---------------------------------------------------------------------------------------- */

/* The CPU works on `host`, the GPU on `gpu`. Both start `shift` floats after the start of the allocation, so that with a
 * shift of 1 no row is aligned. */
struct twin {
    float *host, *gpu;
    size_t count;
};

static struct {
    struct random random;
    int shift;
    void *host[64], *gpu[64];
    int hosts, gpus;
} test;

/* Worst error of each kind of result, relative to the allowed error. */
static struct {
    const char *what;
    double worst;
} seen[64];

static void begin_case(int seed, int shift)
{
    random_seed(&test.random, (uint64_t)seed);
    test.shift = shift;
}

static void end_case(void)
{
    while (test.hosts > 0)
        free(test.host[--test.hosts]);
    while (test.gpus > 0)
        device_free(test.gpu[--test.gpus]);
}

static void *host_new(size_t count, size_t size)
{
    return test.host[test.hosts++] = memory_new(count, size);
}

static void *gpu_new(size_t count, size_t size)
{
    return test.gpu[test.gpus++] = device_new(MEMORY_DATA, count, size);
}

static size_t cells(int B, int N)
{
    return (size_t)B * (size_t)N;
}

static struct twin twin_new(size_t count)
{
    struct twin x = { host_new(count + 1, sizeof(float)), gpu_new(count + 1, sizeof(float)), count };
    x.host += test.shift;
    x.gpu += test.shift;
    return x;
}

/* Return an array of standard normal numbers. */
static struct twin random_twin(size_t count)
{
    struct twin x = twin_new(count);
    for (size_t i = 0; i < count; i++)
        x.host[i] = (float)random_normal(&test.random);
    device_put(x.gpu, x.host, count * sizeof *x.gpu);
    return x;
}

static struct twin poisoned_twin(size_t count)
{
    struct twin x = twin_new(count);
    for (size_t i = 0; i < count; i++)
        x.host[i] = NAN;
    device_put(x.gpu, x.host, count * sizeof *x.gpu);
    return x;
}

static void *gpu_copy(const void *host, size_t bytes)
{
    void *gpu = gpu_new(bytes, 1);
    device_put(gpu, host, bytes);
    return gpu;
}

static float *fetch(struct twin x)
{
    float *got = host_new(x.count, sizeof *got);
    device_fetch(got, x.gpu, x.count * sizeof *got);
    digest(got, x.count * sizeof *got);
    return got;
}

static void note_error(const char *what, double of_allowed)
{
    static size_t at; /* most calls name what the call before named */
    if (seen[at].what != what)
        for (at = 0; seen[at].what && strcmp(seen[at].what, what) != 0;)
            assert_true(++at < sizeof seen / sizeof *seen);
    seen[at].what = what;
    if (!(of_allowed <= seen[at].worst))
        seen[at].worst = of_allowed;
}

static void expect_close(const char *what, size_t i, double got, double want, double allowed)
{
    double error = fabs(got - want);
    note_error(what, allowed > 0 ? error / allowed : error > 0 ? INFINITY : 0);
    if (!(error <= allowed))
        fail_msg("%s, element %zu: %.9g, not %.9g +- %.2g", what, i, got, want, allowed);
}

/* Return the largest magnitude. With fmax(), GCC 12 for 64-bit Arm fails to vectorize the loop (internal compiler error). */
static double greatest(const float *x, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        if (fabs((double)x[i]) > most)
            most = fabs((double)x[i]);
    return most;
}

/* Check that the GPU's result equals the CPU's, up to `limit` times the largest magnitude of the CPU's. */
static void expect_alike(const char *what, struct twin x, double limit)
{
    const float *got = fetch(x);
    double allowed = limit * greatest(x.host, x.count);
    for (size_t i = 0; i < x.count; i++)
        expect_close(what, i, (double)got[i], (double)x.host[i], allowed);
}

/* A sum in double precision, and the sum of its terms' magnitudes, to which rounding errors are proportional. */
struct exact {
    double sum, size;
};

static void add_term(struct exact *to, double term)
{
    to->sum += term;
    to->size += fabs(term);
}

static struct exact *new_exact(size_t count)
{
    return host_new(count, sizeof(struct exact));
}

static void expect_sums(const char *what, struct twin x, const struct exact *exact, double limit)
{
    const float *got = fetch(x);
    for (size_t i = 0; i < x.count; i++)
        expect_close(what, i, (double)got[i], exact[i].sum, limit * exact[i].size);
}

/* Largest relative rounding error of a float. A sum of terms with random signs rarely has an error of more than a few times
 * this, relative to the sum of magnitudes. */
static const double rounding = 0x1p-24;

/* Rows and columns for most operations. The last shape has enough rows for sums to use larger chunks. */
static const struct {
    int B, N;
} shapes[] = { { 1, 1 },    { 1, 1000 },  { 3, 31 },   { 33, 32 },    { 31, 33 },
               { 127, 48 }, { 70, 1025 }, { 1000, 3 }, { 1025, 127 }, { 5000, 48 } };
enum { SHAPES = sizeof shapes / sizeof *shapes, MOST_ROWS = 5000 };

/* Run `check` at each shape of at most this many rows, once aligned and once not. */
static void at_all_shapes(int most_rows, void (*check)(int B, int N))
{
    for (int i = 0; i < 2 * SHAPES; i++) {
        if (shapes[i / 2].B > most_rows)
            continue;
        begin_case(i, i % 2);
        check(shapes[i / 2].B, shapes[i / 2].N);
        end_case();
    }
}

/* --- matrix products ------------------------------------------------------------------------------------------------ */

struct product {
    const float *left, *right;
    bool left_turned, right_turned;
    int rows, columns, inner;
};

static struct exact *multiply_exactly(struct product p)
{
    struct exact *out = new_exact(cells(p.rows, p.columns));
    for (int r = 0; r < p.rows; r++)
        for (int k = 0; k < p.inner; k++) {
            double left = (double)p.left[p.left_turned ? k * p.rows + r : r * p.inner + k];
            for (int c = 0; c < p.columns; c++)
                add_term(&out[r * p.columns + c],
                         left * (double)p.right[p.right_turned ? c * p.inner + k : k * p.columns + c]);
        }
    return out;
}

static void check_products(int B, int N, int K, double limit)
{
    struct twin x = random_twin(cells(B, K)), w = random_twin(cells(K, N)), y = random_twin(cells(B, N));
    struct twin out = poisoned_twin(cells(B, N)), back = poisoned_twin(cells(B, K)), outer = poisoned_twin(cells(K, N));
    device_multiply(out.gpu, x.gpu, w.gpu, B, N, K);
    device_multiply_back(back.gpu, y.gpu, w.gpu, B, N, K);
    device_multiply_outer(outer.gpu, x.gpu, y.gpu, B, N, K);
    struct product p[] = { { x.host, w.host, false, false, B, N, K },
                           { y.host, w.host, false, true, B, K, N },
                           { x.host, y.host, true, false, K, N, B } };
    expect_sums("multiply", out, multiply_exactly(p[0]), limit);
    expect_sums("multiply back", back, multiply_exactly(p[1]), limit);
    expect_sums("multiply outer", outer, multiply_exactly(p[2]), limit);
}

TEST(test_multiply)
{
    static const int sizes[][3] = { { 1, 1, 1 },    { 1, 1000, 31 }, { 3, 31, 127 },    { 31, 33, 1 },
                                    { 33, 48, 48 }, { 127, 1, 32 },  { 127, 144, 1000 } };
    for (int i = 0; i < 2 * (int)(sizeof sizes / sizeof *sizes); i++) {
        begin_case(i, i % 2);
        check_products(sizes[i / 2][0], sizes[i / 2][1], sizes[i / 2][2], 8 * rounding);
        end_case();
    }
}

/* --- other operations of the MLP ----------------------------------------------------------------------------------- */

/* Compare GELU and its slope. The limit 1e-6 allows for the CPU's erf (error 1.5e-7) and e^x (relative error 1e-7). */
static void check_gelu(int B, int N)
{
    struct twin z = random_twin(cells(B, N)), slope = poisoned_twin(z.count), bias = random_twin((size_t)N);
    device_gelu(z.gpu, slope.gpu, bias.gpu, B, N);
    cpu(device_gelu)(z.host, slope.host, bias.host, B, N);
    expect_alike("gelu", z, 1e-6);
    expect_alike("gelu's slope", slope, 1e-6);
}

TEST(test_gelu)
{
    at_all_shapes(MOST_ROWS, check_gelu);
}

/* Compare with GELU itself, also far from 0, where the value is x or 0 and the slope 1 or 0. */
TEST(test_gelu_values)
{
    enum { MIDDLE = 2000, COUNT = 2 * MIDDLE + 1 };
    begin_case(0, 0);
    struct twin z = twin_new(COUNT), slope = poisoned_twin(COUNT), bias = twin_new(1);
    for (int i = 0; i < COUNT; i++)
        z.host[i] = (float)(i - MIDDLE) * 0.01f;
    device_put(z.gpu, z.host, COUNT * sizeof(float));
    device_gelu(z.gpu, slope.gpu, bias.gpu, COUNT, 1);
    const float *value = fetch(z), *steep = fetch(slope);
    for (int i = 0; i < COUNT; i++) {
        double x = (double)z.host[i], phi = 0.5 * erfc(-x / sqrt(2)), bell = exp(-x * x / 2) / sqrt(2 * acos(-1));
        expect_close("gelu(x)", (size_t)i, (double)value[i], x * phi, 3 * rounding * (1 + fabs(x)));
        expect_close("gelu'(x)", (size_t)i, (double)steep[i], phi + x * bell, 8 * rounding);
    }
    end_case();
}

static void check_gelu_back(int B, int N)
{
    struct twin d = random_twin(cells(B, N)), slope = random_twin(d.count), sums = poisoned_twin((size_t)N);
    struct exact *exact = new_exact((size_t)N);
    for (int i = 0; i < B * N; i++)
        add_term(&exact[i % N], (double)d.host[i] * (double)slope.host[i]);
    device_gelu_back(d.gpu, slope.gpu, sums.gpu, B, N);
    cpu(device_gelu_back)(d.host, slope.host, sums.host, B, N);
    expect_alike("gelu back", d, 0); /* one product */
    expect_sums("gelu back's sums", sums, exact, 4 * rounding);
}

TEST(test_gelu_back)
{
    at_all_shapes(MOST_ROWS, check_gelu_back);
}

static void check_column_sums(int B, int N)
{
    struct twin x = random_twin(cells(B, N)), sums = poisoned_twin((size_t)N);
    struct exact *exact = new_exact((size_t)N);
    for (int i = 0; i < B * N; i++)
        add_term(&exact[i % N], (double)x.host[i]);
    device_column_sums(sums.gpu, x.gpu, B, N);
    cpu(device_column_sums)(sums.host, x.host, B, N);
    expect_sums("column sums", sums, exact, 4 * rounding);
    expect_alike("column sums, on the CPU", sums, 1e-5); /* the CPU adds one term after another */
}

TEST(test_column_sums)
{
    at_all_shapes(MOST_ROWS, check_column_sums);
}

/* Compare the cross-entropy. The limit 2e-6 allows for the CPU's e^x and sums of up to 1025 terms. */
static void check_cross_entropy(int B, int N)
{
    const float scale = 0.125f;
    struct twin logits = random_twin(cells(B, N)), bias = random_twin((size_t)N);
    int32_t *labels = host_new((size_t)B, sizeof *labels);
    for (int b = 0; b < B; b++)
        labels[b] = (int32_t)random_below(&test.random, (uint32_t)N);
    double loss = NAN, on_cpu = NAN, *loss_gpu = gpu_copy(&loss, sizeof loss);
    device_cross_entropy(loss_gpu, logits.gpu, bias.gpu, gpu_copy(labels, (size_t)B * sizeof *labels), B, N, scale);
    cpu(device_cross_entropy)(&on_cpu, logits.host, bias.host, labels, B, N, scale);
    device_fetch(&loss, loss_gpu, sizeof loss);
    digest(&loss, sizeof loss);
    expect_close("loss", 0, loss, on_cpu, 1e-6 * (1 + fabs(on_cpu)));
    const float *got = fetch(logits);
    for (size_t i = 0; i < logits.count; i++)
        expect_close("cross-entropy", i, (double)got[i], (double)logits.host[i], 2e-6 * (double)scale);
}

TEST(test_cross_entropy)
{
    at_all_shapes(1000, check_cross_entropy);
}

/* --- element by element --------------------------------------------------------------------------------------------- */

static const size_t counts[] = { 1, 3, 4, 31, 32, 33, 48, 127, 1000, 1025, 4101 };
enum { COUNTS = sizeof counts / sizeof *counts };

static void check_arrays(size_t count)
{
    struct twin x = random_twin(count), out = poisoned_twin(count), sum = random_twin(count);
    device_fill(out.gpu, 2.5f, count);
    for (size_t i = 0; i < count; i++)
        out.host[i] = 2.5f;
    expect_alike("fill", out, 0);
    device_copy(out.gpu, x.gpu, count);
    memcpy(out.host, x.host, count * sizeof(float));
    expect_alike("copy", out, 0);
    device_scale(out.gpu, x.gpu, 0.3f, count);
    device_scale(x.gpu, x.gpu, -3, count);
    device_add(sum.gpu, out.gpu, count);
    for (size_t i = 0; i < count; i++) {
        out.host[i] = x.host[i] * 0.3f;
        x.host[i] *= -3;
        sum.host[i] += out.host[i];
    }
    expect_alike("scale", out, 0);
    expect_alike("scale in place", x, 0);
    expect_alike("add", sum, 0);
}

TEST(test_arrays)
{
    for (int i = 0; i < 2 * COUNTS; i++) {
        begin_case(i, i % 2);
        check_arrays(counts[i / 2]);
        end_case();
    }
}

/* Check that operations on no elements, rows or sequences do nothing, except that a sum of no rows is zero. */
TEST(test_nothing)
{
    begin_case(0, 0);
    struct twin x = random_twin(4);
    device_fill(x.gpu, NAN, 0);
    device_copy(x.gpu, x.gpu, 0);
    device_scale(x.gpu, x.gpu, NAN, 0);
    device_put(x.gpu, x.host, 0);
    device_sample(x.host, x.gpu, sizeof(float), 1, 0);
    device_gelu(x.gpu, x.gpu, x.gpu, 0, 4);
    device_residual(x.gpu, x.gpu, x.gpu, 0, 4);
    device_gather(x.gpu, x.gpu, NULL, 0, 4);
    device_layer_norm(x.gpu, x.gpu, x.gpu, x.gpu, x.gpu, 0, 4);
    device_mean_pool(x.gpu, x.gpu, NULL, 0, 4);
    device_mean_pool_back(x.gpu, x.gpu, NULL, 0, 4);
    device_attention(&(struct attention){ .longest = 4, .heads = 1, .head_width = 4 });
    expect_alike("nothing", x, 0);
    struct twin sums = poisoned_twin(4), biases = poisoned_twin(4);
    device_column_sums(sums.gpu, x.gpu, 0, 4);
    device_gelu_back(x.gpu, x.gpu, biases.gpu, 0, 4);
    memset(sums.host, 0, 4 * sizeof(float));
    memset(biases.host, 0, 4 * sizeof(float));
    expect_alike("sums of nothing", sums, 0);
    expect_alike("gelu back's sums of nothing", biases, 0);
    end_case();
}

/* Compare conversions bit by bit: every bf16 number, and random floats. Special floats are two ties, the smallest that
 * becomes infinite, infinity, the smallest subnormal, and NaNs whose upper half alone would be infinity. */
TEST(test_bf16)
{
    enum { COUNT = 65536 };
    static const uint32_t special[] = { 0x3f808000, 0x3f818000, 0x7f7f8000, 0x7f800000, 1, 0x7f800001, 0xff800001 };
    begin_case(0, 0);
    uint32_t *words = host_new(COUNT, sizeof *words);
    uint16_t *halves = host_new(COUNT, sizeof *halves), *got = host_new(COUNT, sizeof *got);
    for (uint32_t i = 0; i < COUNT; i++)
        words[i] = random_below(&test.random, 65536) << 16 | random_below(&test.random, 65536);
    memcpy(words, special, sizeof special);
    struct twin x = twin_new(COUNT), wide = poisoned_twin(COUNT);
    memcpy(x.host, words, COUNT * sizeof(float));
    device_put(x.gpu, words, COUNT * sizeof(float));
    uint16_t *halves_gpu = gpu_new(COUNT, sizeof *halves);
    device_narrow(halves_gpu, x.gpu, COUNT - 1); /* the last element stays zero */
    cpu(device_narrow)(halves, x.host, COUNT - 1);
    device_fetch(got, halves_gpu, COUNT * sizeof *got);
    assert_memory_equal(got, halves, COUNT * sizeof *got);
    for (uint32_t i = 0; i < COUNT; i++)
        halves[i] = (uint16_t)i;
    device_put(halves_gpu, halves, COUNT * sizeof *halves);
    device_widen(wide.gpu, halves_gpu, COUNT);
    cpu(device_widen)(wide.host, halves, COUNT);
    assert_memory_equal(fetch(wide), wide.host, COUNT * sizeof(float));
    end_case();
}

static void check_adamw(size_t count)
{
    struct twin p = random_twin(count), m = random_twin(count), v = random_twin(count), g = random_twin(count);
    device_fill(m.gpu, 0, count);
    device_fill(v.gpu, 0, count);
    memset(m.host, 0, count * sizeof(float));
    memset(v.host, 0, count * sizeof(float));
    for (int t = 1; t <= 3; t++) {
        struct adamw_rates rates = { .rate = 1e-3f,
                                     .beta1 = 0.9f,
                                     .beta2 = 0.999f,
                                     .epsilon = 1e-8f,
                                     .weight_decay = 0.01f,
                                     .correction1 = (float)(1 - pow(0.9, t)),
                                     .correction2 = (float)sqrt(1 - pow(0.999, t)) };
        device_adamw(p.gpu, m.gpu, v.gpu, g.gpu, count, &rates);
        cpu(device_adamw)(p.host, m.host, v.host, g.host, count, &rates);
    }
    expect_alike("AdamW's first moment", m, 8 * rounding);
    expect_alike("AdamW's second moment", v, 8 * rounding);
    expect_alike("AdamW", p, 12 * rounding); /* three steps, each of which may round differently */
}

TEST(test_adamw)
{
    for (int i = 0; i < 2 * COUNTS; i++) {
        begin_case(i, i % 2);
        check_adamw(counts[i / 2]);
        end_case();
    }
}

/* --- other operations of the transformer ----------------------------------------------------------------------------- */

/* Return random indices, most of them 0 like padding. */
static int32_t *random_indices(int count, int rows)
{
    int32_t *index = host_new((size_t)count, sizeof *index);
    for (int i = 0; i < count; i++)
        index[i] = random_unit(&test.random) < 0.7 ? 0 : (int32_t)random_below(&test.random, (uint32_t)rows);
    return index;
}

static void check_table(int rows, int B, int N)
{
    struct twin table = random_twin(cells(rows, N)), x = random_twin(cells(B, N));
    struct twin gathered = poisoned_twin(x.count), scattered = poisoned_twin(table.count);
    int32_t *index = random_indices(B, rows), *index_gpu = gpu_copy(index, (size_t)B * sizeof *index);
    struct exact *exact = new_exact(table.count);
    for (int i = 0; i < B * N; i++)
        add_term(&exact[index[i / N] * N + i % N], (double)x.host[i]);
    device_gather(gathered.gpu, table.gpu, index_gpu, B, N);
    cpu(device_gather)(gathered.host, table.host, index, B, N);
    expect_alike("gather", gathered, 0);
    device_scatter(scattered.gpu, rows, x.gpu, index_gpu, B, N);
    cpu(device_scatter)(scattered.host, rows, x.host, index, B, N);
    expect_sums("scatter", scattered, exact, 8 * rounding);
    expect_alike("scatter, on the CPU", scattered, 1e-5); /* the CPU adds one term after another */
}

TEST(test_table)
{
    static const int sizes[][3] = { { 1, 1, 1 },    { 1, 300, 33 },    { 7, 31, 48 },     { 1000, 3, 127 },
                                    { 8, 129, 64 }, { 300, 2100, 48 }, { 33, 1025, 1000 } };
    for (int i = 0; i < 2 * (int)(sizeof sizes / sizeof *sizes); i++) {
        begin_case(i, i % 2);
        check_table(sizes[i / 2][0], sizes[i / 2][1], sizes[i / 2][2]);
        end_case();
    }
}

static void check_residual(int B, int N)
{
    struct twin x = random_twin(cells(B, N)), beside = random_twin(x.count), bias = random_twin((size_t)N);
    device_residual(x.gpu, beside.gpu, bias.gpu, B, N);
    cpu(device_residual)(x.host, beside.host, bias.host, B, N);
    expect_alike("residual", x, 0);
}

TEST(test_residual)
{
    at_all_shapes(MOST_ROWS, check_residual);
}

/* Compare layer norm. The limit is 3e-5, since 1 / sqrt(variance), up to 316, amplifies rounding in rows of small variance. */
static void check_layer_norm(int B, int N)
{
    struct twin x = random_twin(cells(B, N)), weight = random_twin((size_t)N), bias = random_twin((size_t)N);
    struct twin y = poisoned_twin(x.count), moments = poisoned_twin(2 * (size_t)B);
    device_layer_norm(y.gpu, moments.gpu, x.gpu, weight.gpu, bias.gpu, B, N);
    cpu(device_layer_norm)(y.host, moments.host, x.host, weight.host, bias.host, B, N);
    expect_alike("layer norm", y, 3e-5);
    expect_alike("layer norm's moments", moments, 3e-5);

    struct twin d = random_twin(x.count), back = random_twin(x.count);
    struct twin of_weight = poisoned_twin((size_t)N), of_bias = poisoned_twin((size_t)N);
    struct exact *weights = new_exact((size_t)N), *biases = new_exact((size_t)N);
    device_put(moments.gpu, moments.host, moments.count * sizeof(float)); /* backward uses the same moments on both */
    for (int i = 0; i < B * N; i++) {
        double normal = ((double)x.host[i] - (double)moments.host[i / N * 2]) * (double)moments.host[i / N * 2 + 1];
        add_term(&weights[i % N], (double)back.host[i] * normal);
        add_term(&biases[i % N], (double)back.host[i]);
    }
    device_layer_norm_back(d.gpu, of_weight.gpu, of_bias.gpu, back.gpu, x.gpu, moments.gpu, weight.gpu, B, N);
    cpu(device_layer_norm_back)(d.host, of_weight.host, of_bias.host, back.host, x.host, moments.host, weight.host, B,
                                N);
    expect_alike("layer norm back", d, 3e-5);
    expect_sums("layer norm back's weights", of_weight, weights, 16 * rounding);
    expect_sums("layer norm back's biases", of_bias, biases, 4 * rounding);
}

TEST(test_layer_norm)
{
    at_all_shapes(MOST_ROWS, check_layer_norm);
}

/* Sequences, packed or padded to the longest. */
struct texts {
    struct sequence *host, *gpu;
    int count, rows, longest;
};

static struct texts draw_texts(int count, int longest, bool is_padded)
{
    struct texts t = { .host = host_new((size_t)count, sizeof *t.host), .count = count, .longest = longest };
    for (int i = 0; i < count; i++) {
        int tokens = i == count / 2 ? longest : 1 + (int)random_below(&test.random, (uint32_t)longest);
        t.host[i] = (struct sequence){ .first = t.rows, .tokens = tokens, .extent = is_padded ? longest : tokens };
        t.rows += t.host[i].extent;
    }
    t.gpu = gpu_copy(t.host, (size_t)count * sizeof *t.host);
    return t;
}

static void check_pool(struct texts t, int N)
{
    struct twin x = random_twin(cells(t.rows, N)), pooled = poisoned_twin(cells(t.count, N));
    struct twin back = random_twin(pooled.count), d = poisoned_twin(x.count);
    struct exact *exact = new_exact(pooled.count);
    for (int i = 0; i < t.count; i++)
        for (int cell = 0; cell < t.host[i].tokens * N; cell++)
            add_term(&exact[i * N + cell % N], (double)x.host[t.host[i].first * N + cell] / t.host[i].tokens);
    device_mean_pool(pooled.gpu, x.gpu, t.gpu, t.count, N);
    expect_sums("mean pool", pooled, exact, 8 * rounding);
    device_mean_pool_back(d.gpu, back.gpu, t.gpu, t.count, N);
    cpu(device_mean_pool_back)(d.host, back.host, t.host, t.count, N);
    expect_alike("mean pool back", d, 0);
}

TEST(test_pool)
{
    static const int sizes[][3] = { { 1, 1, 1 }, { 1, 700, 48 }, { 5, 33, 31 }, { 33, 40, 48 }, { 3, 8, 1000 } };
    for (int i = 0; i < 4 * (int)(sizeof sizes / sizeof *sizes); i++) {
        const int *size = sizes[i / 4];
        begin_case(i, i % 2);
        check_pool(draw_texts(size[0], size[1], i / 2 % 2), size[2]);
        end_case();
    }
}

/* --- attention ------------------------------------------------------------------------------------------------------ */

/* Attention of one head and query to its sequence, in double precision. */
struct attended {
    double log_sum, out[DEVICE_LANES];
};

static struct attended attend_exactly(const struct attention *a, const struct sequence *text, int head, int query)
{
    int D = a->head_width, width = a->heads * D, column = head * D;
    const float *q = a->projected + (size_t)(text->first + query) * 3 * (size_t)width + column;
    double most = -INFINITY, total = 0, score[1024];
    struct attended result = { 0 };
    for (int key = 0; key < text->tokens; key++) {
        const float *k = a->projected + (size_t)(text->first + key) * 3 * (size_t)width + width + column;
        score[key] = 0;
        for (int c = 0; c < D; c++)
            score[key] += ((double)q[c] + (double)a->bias[column + c]) *
                          ((double)k[c] + (double)a->bias[width + column + c]) / sqrt(D);
        most = fmax(most, score[key]);
    }
    for (int key = 0; key < text->tokens; key++)
        total += score[key] = exp(score[key] - most);
    for (int key = 0; key < text->tokens; key++) {
        const float *v = a->projected + (size_t)(text->first + key) * 3 * (size_t)width + 2 * width + column;
        for (int c = 0; c < D; c++)
            result.out[c] += score[key] / total * ((double)v[c] + (double)a->bias[2 * width + column + c]);
    }
    result.log_sum = most + log(total);
    return result;
}

static void expect_attended(const struct attention *a, const struct texts *t, const float *out, const float *log_sum)
{
    for (int i = 0; i < t->count; i++)
        for (int query = 0; query < t->host[i].extent; query++)
            for (int head = 0; head < a->heads; head++) {
                struct attended exact = attend_exactly(a, &t->host[i], head, query);
                size_t at = (size_t)(t->host[i].first + query) * (size_t)a->heads + (size_t)head;
                expect_close("attention's log of sums", at, (double)log_sum[at], exact.log_sum, 2e-5);
                for (int c = 0; c < a->head_width; c++)
                    expect_close("attention", at, (double)out[at * (size_t)a->head_width + (size_t)c], exact.out[c],
                                 2e-5);
            }
}

/* Compare attention. The limit 2e-5 allows for scores of up to about 30, for which e^x amplifies rounding 30 times. Backward
 * may differ by 1e-4 of the largest gradient, since the CPU has such errors, too. */
static void check_attention(struct texts t, int heads, int D)
{
    size_t rows = (size_t)t.rows, width = cells(heads, D);
    struct twin projected = random_twin(rows * 3 * width), bias = random_twin(3 * width);
    struct twin out = poisoned_twin(rows * width), log_sum = poisoned_twin(rows * (size_t)heads);
    struct twin back = poisoned_twin(rows * 3 * width), d = random_twin(rows * width);
    struct attention on_cpu = { .text = t.host,
                                .texts = t.count,
                                .longest = t.longest,
                                .heads = heads,
                                .head_width = D,
                                .projected = projected.host,
                                .bias = bias.host,
                                .out = out.host,
                                .log_sum = log_sum.host,
                                .scratch = host_new(cpu(device_attention_scratch)(t.longest), sizeof(float)) };
    struct attention on_gpu = on_cpu;
    on_gpu.text = t.gpu;
    on_gpu.projected = projected.gpu;
    on_gpu.bias = bias.gpu;
    on_gpu.out = out.gpu;
    on_gpu.log_sum = log_sum.gpu;
    on_gpu.scratch = gpu_new(device_attention_scratch(t.longest), sizeof(float));
    device_attention(&on_gpu);
    cpu(device_attention)(&on_cpu);
    expect_alike("attention, on the CPU", out, 2e-5);
    expect_attended(&on_cpu, &t, fetch(out), fetch(log_sum));
    device_attention_back(back.gpu, d.gpu, &on_gpu);
    cpu(device_attention_back)(back.host, d.host, &on_cpu);
    expect_alike("attention back", back, 1e-4);
}

TEST(test_attention)
{
    static const int sizes[][4] = { /* sequences, longest, heads, head width */
                                    { 1, 1, 1, 1 },   { 3, 3, 1, 16 },   { 2, 31, 4, 12 },
                                    { 5, 33, 4, 12 }, { 2, 64, 1, 7 },   { 2, 65, 3, 4 },
                                    { 1, 127, 2, 8 }, { 2, 200, 1, 15 }, { 1, 300, 1, 12 }
    };
    for (int i = 0; i < 2 * (int)(sizeof sizes / sizeof *sizes); i++) {
        const int *size = sizes[i / 2];
        begin_case(i, i / 2 % 2);
        check_attention(draw_texts(size[0], size[1], i % 2), size[2], size[3]);
        end_case();
    }
}

/* --- copies and the clock ------------------------------------------------------------------------------------------- */

TEST(test_copies)
{
    enum { COUNT = 1025 };
    begin_case(0, 1);
    struct twin x = random_twin(COUNT);
    float *sampled = host_new(COUNT, sizeof *sampled), *stage = device_stage_new(MEMORY_DATA, COUNT * sizeof *stage);
    expect_alike("put and fetch", x, 0);
    device_sample(sampled, x.gpu, sizeof(float), 31, COUNT / 31);
    for (int i = 0; i < COUNT / 31; i++)
        assert_true(sampled[i] == x.host[31 * i]);
    for (int i = 0; i < COUNT; i++)
        stage[i] = (float)i;
    device_scale(x.gpu, x.gpu, NAN, COUNT);
    device_put_later(x.gpu, stage, COUNT * sizeof *stage);
    device_scale(x.gpu, x.gpu, 2, COUNT);
    for (int i = 0; i < COUNT; i++)
        x.host[i] = (float)(2 * i);
    expect_alike("put later", x, 0);
    device_stage_free(stage);
    void *mapped = device_map(MEMORY_DATA, COUNT);
    device_put(mapped, sampled, 31);
    for (int i = 0; i < 100; i++) /* device_unmap() must wait for this work */
        device_fill(mapped, 1, COUNT / sizeof(float));
    device_unmap(mapped, COUNT);
    end_case();
}

/* Copies run beside operations, and each waits for the other where it is told to: of two buffers one is summed while the other is filled.
 * Other operations delay each sum, so that copies which did not wait would come first. */
TEST(test_copies_beside)
{
    enum { COUNT = 4099, STEPS = 12, BUSY = 10 };
    for (int is_pinned = 0; is_pinned < 2; is_pinned++) {
        begin_case(is_pinned, 0);
        float *batch[2] = { gpu_new(COUNT, sizeof(float)), gpu_new(COUNT, sizeof(float)) };
        float *host = is_pinned ? device_stage_new(MEMORY_DATA, STEPS * COUNT * sizeof *host)
                                : host_new(STEPS * COUNT, sizeof *host);
        struct twin sum = twin_new(COUNT), busy = random_twin(COUNT);
        device_fill(sum.gpu, 0, COUNT);
        for (int i = 0; i < STEPS * COUNT; i++)
            host[i] = (float)(i % 101);
        device_clock_sync_begin();
        const double began = device_record_copies();
        device_copy_beside(batch[0], host, COUNT * sizeof *host);
        for (int step = 0; step < STEPS; step++) {
            device_operations_follow();
            device_copies_follow();
            if (step + 1 < STEPS)
                device_copy_beside(batch[(step + 1) % 2], host + (step + 1) * COUNT, COUNT * sizeof *host);
            for (int i = 0; i < BUSY; i++)
                device_scale(busy.gpu, busy.gpu, 1, COUNT);
            device_add(sum.gpu, batch[step % 2], COUNT);
        }
        const double ended = device_record_copies();
        device_operations_follow();
        device_wait();
        assert_true(device_event_seconds(ended) >= device_event_seconds(began));
        for (int i = 0; i < COUNT; i++) {
            sum.host[i] = 0;
            for (int step = 0; step < STEPS; step++)
                sum.host[i] += host[step * COUNT + i];
        }
        expect_alike("copies beside operations", sum, 0);
        if (is_pinned)
            device_stage_free(host);
        end_case();
    }
}

static void *deliver(void *buffer)
{
    device_deliver(buffer, 1000 * sizeof(int32_t));
    return NULL;
}

/* Fill a staging buffer from another thread, as a loader does. */
TEST(test_staging_buffer)
{
    int32_t got[1025];
    struct device_staging_buffer buffer = device_staging_buffer_open(MEMORY_DATA, 1025, sizeof *got);
    for (int32_t i = 0; i < 1025; i++)
        ((int32_t *)buffer.host)[i] = i + 1;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, deliver, &buffer), 0);
    pthread_join(thread, NULL);
    device_fetch(got, buffer.device, sizeof got);
    for (int32_t i = 0; i < 1025; i++)
        assert_int_equal(got[i], i < 1000 ? i + 1 : 0);
    device_staging_buffer_close(&buffer);
}

/* Check that events are in order, and between the host's times before and after. 20 us allow for the resolution of a GPU's
 * clock. */
TEST(test_moments)
{
    enum { NOTES = 300 };
    double note[NOTES], slack = 20e-6;
    begin_case(0, 0);
    struct twin x = random_twin(4101);
    for (int round = 0; round < 2; round++) {
        device_clock_sync_begin();
        double before = world_now(), error = device_clock_error();
        assert_true(error >= 0 && error < 0.1);
        for (int i = 0; i < NOTES; i++) {
            device_scale(x.gpu, x.gpu, 1, x.count);
            note[i] = device_record_event();
            assert_true(note[i] < 0);
        }
        device_wait();
        double after = world_now();
        for (int i = 0; i < NOTES; i++) {
            double seconds = device_event_seconds(note[i]);
            assert_true(seconds >= before - error - slack && seconds <= after + error + slack);
            assert_true(i == 0 || seconds >= device_event_seconds(note[i - 1]));
        }
        assert_true(device_event_seconds(1.5) == 1.5);
    }
    end_case();
}

/* Check clock drift: after device_clock_sync_end(), the time of an event in between must be right within the clock error. */
TEST(test_drift)
{
    device_clock_sync_begin();
    usleep(500000);
    double before = world_now(), note = device_record_event();
    device_wait();
    double after = world_now(), apart = device_event_seconds(note) - (before + after) / 2, half = (after - before) / 2;
    print_message("half a second after they were set, clocks differ by %.1f us +- %.1f us\n", 1e6 * apart,
                  1e6 * (device_clock_error() + half));
    usleep(500000);
    device_clock_sync_end();
    apart = device_event_seconds(note) - (before + after) / 2;
    assert_true(fabs(apart) <= device_clock_error() + half + 1e-6);
}

static void count_call(void *calls)
{
    ++*(int *)calls;
}

/* Check that a wait of some milliseconds calls the watch function, at most once per millisecond. A GPU runs small kernels as
 * fast as they are launched and queues only about 1000 launches, so the test uses fewer launches of ever larger kernels, until
 * a wait has called. Only the count is checked against the time: a busy machine may take this process's core away for the
 * whole of a wait, so that a long wait need not have called. */
TEST(test_watch)
{
    enum { LAUNCHES = 500, MOST = 1 << 26 };
    begin_case(0, 0);
    float *x = gpu_new(MOST, sizeof *x);
    int calls = 0;
    cuda_watch(count_call, &calls);
    for (size_t count = 1024; !calls; count *= 2) {
        assert_true(count <= MOST);
        for (int i = 0; i < LAUNCHES; i++)
            device_scale(x, x, 1, count);
        double began = world_now();
        device_wait();
        assert_true(calls <= (world_now() - began) * 1e3);
    }
    cuda_watch(NULL, NULL);
    device_wait();
    end_case();
}

/* --- precisions ----------------------------------------------------------------------------------------------------- */

/* Return the largest error of a product relative to the sum of magnitudes. The product is large enough for a library to use
 * tensor cores. */
static double product_error(enum precision precision)
{
    enum { B = 256, N = 256, K = 512 };
    device_close();
    device_open(0, precision);
    begin_case(1, 0);
    struct twin x = random_twin(B * K), w = random_twin(K * N), out = poisoned_twin(B * N);
    device_multiply(out.gpu, x.gpu, w.gpu, B, N, K);
    const struct exact *exact = multiply_exactly((struct product){ x.host, w.host, false, false, B, N, K });
    const float *got = fetch(out);
    double worst = 0;
    for (size_t i = 0; i < out.count; i++) {
        double error = fabs((double)got[i] - exact[i].sum) / exact[i].size;
        worst = error <= worst ? worst : error;
    }
    end_case();
    return worst;
}

/* Check errors per precision. Rounding both factors to f bits of fraction changes a term by at most 2^-f, and a sum of many
 * terms typically by a tenth of that or less. Truncation doubles the error. A result as exact as fp32 means that factors
 * were not rounded. For bf16, cuBLAS may also use tf32. */
TEST(test_precisions)
{
    double fp32 = product_error(PRECISION_FP32), tf32 = product_error(PRECISION_TF32),
           bf16 = product_error(PRECISION_BF16);
    print_message("worst error of a product: fp32 %.1e, tf32 %.1e, bf16 %.1e\n", fp32, tf32, bf16);
    assert_true(fp32 <= 8 * rounding);
    assert_true(tf32 > 0x1p-16 && tf32 <= 0x1p-9);
    assert_true(bf16 > 0x1p-16 && bf16 <= 0x1p-6);
    device_close();
    device_open(0, PRECISION_FP32);
    assert_string_equal(device_name(), "cuda");
    assert_non_null(strstr(device_kernel(), "fp32"));
}

/* --- the same bits, always ------------------------------------------------------------------------------------------ */

static void (*const operations[])(void **state) = {
    test_multiply, test_gelu,  test_gelu_values, test_gelu_back,  test_column_sums, test_cross_entropy, test_arrays,
    test_adamw,    test_table, test_residual,    test_layer_norm, test_pool,        test_attention,
};

static void run_operations(void)
{
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        operations[i](NULL);
}

/* Check that the program refuses a setting that changes the precision of products. */
TEST(test_override)
{
    char line[64];
    assert_int_equal(run_with("NVIDIA_TF32_OVERRIDE=1", line), 77);
    assert_string_equal(line, "");
}

TEST(test_bits)
{
    assert_same_bits(run_operations);
}

static void print_errors(void)
{
    printf("worst error, in parts of what is allowed:\n");
    for (size_t i = 0; i < sizeof seen / sizeof *seen && seen[i].what; i++)
        printf("    %-30s %.3f\n", seen[i].what, seen[i].worst);
}

AROUND_TESTS(NULL, print_errors)

int main(int count, char **argument)
{
    return beside_cpu_main(count, argument, run_operations);
}
