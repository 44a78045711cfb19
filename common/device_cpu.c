#include "device.h"

#include "bf16.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Each loop below is compiled for several vector widths; the loader picks the widest this CPU has, so that one
 * binary runs anywhere. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&               \
    !defined(__SANITIZE_THREAD__)
#define WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WIDE
#endif

/* OpenBLAS's own names; another BLAS does without them. */
extern void openblas_set_num_threads(int threads) __attribute__((weak));
extern char *openblas_get_corename(void) __attribute__((weak));

void device_open(void)
{
    if (openblas_set_num_threads)
        openblas_set_num_threads(1);
}

const char *device_name(void)
{
    return "cpu";
}

bool device_computes(void)
{
    return true;
}

void device_pass(enum work_pass pass, struct work work, double share)
{
    (void)pass, (void)work, (void)share;
}

struct cost device_pass_cost(enum work_pass pass)
{
    (void)pass;
    return (struct cost){ { 0 } };
}

const char *device_kernel(void)
{
    static char name[64] = "CBLAS";
    if (openblas_get_corename)
        snprintf(name, sizeof name, "OpenBLAS %s", openblas_get_corename());
    return name;
}

void device_multiply(float *out, const float *x, const float *w, int B, int N, int K)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, B, N, K, 1, x, K, w, N, 0, out, N);
}

void device_multiply_back(float *out, const float *y, const float *w, int B, int N, int K)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, B, K, N, 1, y, N, w, N, 0, out, K);
}

void device_multiply_outer(float *out, const float *x, const float *y, int B, int N, int K)
{
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, K, N, B, 1, x, K, y, N, 0, out, N);
}

/* e^x without branches or calls, so that loops over it vectorise: 2^n from the exponent bits times a polynomial on
 * [-ln2/2, ln2/2] (Cephes expf's coefficients). Relative error below 3e-7; below -87 it returns about 1e-38. */
static inline float fast_exp(float x)
{
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    const float shift = 12582912.0f; /* 1.5 * 2^23: adding it rounds to a whole number */
    float n = (x * 1.44269504f + shift) - shift;
    float r = x - n * 0.693359375f + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    int32_t bits = ((int32_t)n + 127) << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

WIDE void device_gelu(float *restrict z, float *restrict slope, const float *restrict bias, int B, int N)
{
    for (int b = 0; b < B; b++) {
        float *restrict row = z + (size_t)b * (size_t)N;
        float *restrict out = slope + (size_t)b * (size_t)N;
        for (int n = 0; n < N; n++) {
            float x = row[n] + bias[n];
            float bell = fast_exp(-0.5f * x * x); /* e^(-u^2) at u = x / sqrt 2: both erf and the slope need it */
            float u = fabsf(x) * 0.70710678f;
            float t = 1.0f / (1.0f + 0.3275911f * u);
            float poly =
                t * (0.254829592f + t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
            float upper = 0.5f * poly * bell; /* 1 - Phi(|x|) */
            float phi = x < 0 ? upper : 1.0f - upper;
            row[n] = x * phi;
            out[n] = phi + x * 0.39894228f * bell;
        }
    }
}

WIDE void device_gelu_back(float *restrict d, const float *restrict slope, float *restrict bias_gradient, int B, int N)
{
    memset(bias_gradient, 0, (size_t)N * sizeof *bias_gradient);
    for (int b = 0; b < B; b++) {
        float *restrict row = d + (size_t)b * (size_t)N;
        const float *restrict by = slope + (size_t)b * (size_t)N;
        for (int n = 0; n < N; n++) {
            row[n] *= by[n];
            bias_gradient[n] += row[n];
        }
    }
}

WIDE double device_cross_entropy(float *restrict logits, const float *restrict bias, const int32_t *restrict labels,
                                 int B, int N, float scale)
{
    double loss = 0;
    for (int b = 0; b < B; b++) {
        float *restrict row = logits + (size_t)b * (size_t)N;
        float most = -INFINITY;
        for (int n = 0; n < N; n++) {
            row[n] += bias[n];
            most = row[n] > most ? row[n] : most;
        }
        float of_label = row[labels[b]] - most;
        float sum = 0;
        for (int n = 0; n < N; n++) {
            row[n] = fast_exp(row[n] - most);
            sum += row[n];
        }
        loss += log((double)sum) - (double)of_label;
        float factor = scale / sum;
        for (int n = 0; n < N; n++)
            row[n] *= factor;
        row[labels[b]] -= scale;
    }
    return loss;
}

WIDE void device_column_sums(float *restrict out, const float *restrict x, int B, int N)
{
    memset(out, 0, (size_t)N * sizeof *out);
    for (int b = 0; b < B; b++)
        for (int n = 0; n < N; n++)
            out[n] += x[(size_t)b * (size_t)N + (size_t)n];
}

WIDE void device_scale(float *restrict out, const float *restrict x, float scale, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = x[i] * scale;
}

WIDE void device_fill(float *out, float value, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = value;
}

WIDE void device_narrow(uint16_t *restrict out, const float *restrict x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = bf16_round(x[i]);
}

WIDE void device_widen(float *restrict out, const uint16_t *restrict x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = bf16_widen(x[i]);
}

WIDE void device_add(float *restrict sum, const float *restrict x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sum[i] += x[i];
}

WIDE void device_adamw(float *restrict p, float *restrict m, float *restrict v, const float *restrict g, size_t count,
                       const struct adamw_rates *rates)
{
    const struct adamw_rates r = *rates;
    const float keep = 1.0f - r.rate * r.weight_decay;
    const float step = r.rate / r.correction1, shrink = 1.0f / r.correction2;
    for (size_t i = 0; i < count; i++) {
        m[i] = r.beta1 * m[i] + (1.0f - r.beta1) * g[i];
        v[i] = r.beta2 * v[i] + (1.0f - r.beta2) * g[i] * g[i];
        p[i] = p[i] * keep - step * m[i] / (sqrtf(v[i]) * shrink + r.epsilon);
    }
}
