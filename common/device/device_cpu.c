#include "device/device.h"

#include "base/bf16.h"
#include "base/memory.h"
#include "device/device_cpu.h"

#include <cblas.h>
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* OpenBLAS functions; other BLAS libraries lack them. */
extern void openblas_set_num_threads(int threads) __attribute__((weak));
extern char *openblas_get_corename(void) __attribute__((weak));

/* Treat denormals (below 1e-38) as zero, as on a GPU: arithmetic on them is up to a hundred times slower. A model that
 * has memorised its batch produces such gradients. Its steps would take five times as long, for no reason visible in
 * the code. */
static void ignore_denormals(void)
{
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | _MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON);
#elif defined(__aarch64__)
    enum { FLUSH_TO_ZERO = 1 << 24 }; /* bit of FPCR, for inputs and results */
    uint64_t control = 0;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    __asm__ volatile("msr fpcr, %0" : : "r"(control | FLUSH_TO_ZERO));
#endif
}

/* Matrix product of OpenBLAS, in CBLAS's form. Another library may define the same name and be found first: SimGrid 4.1
 * brings the plain loops of GSL (libgslcblas, by way of ns-3), which take twenty times as long. find_multiply()
 * therefore looks the name up in OpenBLAS itself. Static, because a process has one OpenBLAS and each product calls it. */
static __typeof__(cblas_sgemm) *multiply = cblas_sgemm;

static void find_multiply(void)
{
    Dl_info openblas;
    bool is_there = openblas_set_num_threads && dladdr((void *)(intptr_t)openblas_set_num_threads, &openblas) != 0;
    void *library = is_there ? dlopen(openblas.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *own = library ? dlsym(library, "cblas_sgemm") : NULL;
    if (own)
        multiply = (__typeof__(multiply))(intptr_t)own;
    if (library)
        dlclose(library); /* does not unload it: the program is linked with it */
}

void device_open(int place, enum precision precision)
{
    (void)place, (void)precision; /* the options refuse any precision but fp32 on a CPU */
    ignore_denormals();
    find_multiply();
    if (openblas_set_num_threads)
        openblas_set_num_threads(1);
}

const char *device_name(void)
{
    return "cpu";
}

const char *device_kernel(void)
{
    static char name[64] = "CBLAS, one thread per rank"; /* returned, so it has to outlive the call */
    if (openblas_get_corename)
        snprintf(name, sizeof name, "OpenBLAS %s, one thread per rank", openblas_get_corename());
    return name;
}

void *device_new(enum memory_owner owner, size_t count, size_t size)
{
    return memory_new_array(owner, count, size);
}

void device_free(void *memory)
{
    memory_free_array(memory);
}

void *device_map(enum memory_owner owner, size_t bytes)
{
    void *memory = memory_map(bytes);
    ledger_add(memory, bytes, owner, MEMORY_HOST);
    return memory;
}

void device_unmap(void *memory, size_t bytes)
{
    if (memory)
        ledger_remove(memory);
    memory_unmap(memory, bytes);
}

void *device_stage_new(enum memory_owner owner, size_t bytes)
{
    return memory_new_array(owner, bytes, 1);
}

void device_stage_free(void *stage)
{
    memory_free_array(stage);
}

void device_put(void *out, const void *host, size_t bytes)
{
    memcpy(out, host, bytes);
}

void device_fetch(void *host, const void *memory, size_t bytes)
{
    memcpy(host, memory, bytes);
}

void device_put_later(void *out, const void *host, size_t bytes)
{
    memcpy(out, host, bytes);
}

void device_sample(void *host, const void *memory, size_t size, size_t stride, size_t count)
{
    for (size_t i = 0; i < count; i++)
        memcpy((char *)host + i * size, (const char *)memory + i * stride * size, size);
}

void device_sample_later(void *stage, const void *memory, size_t size, size_t stride, size_t count)
{
    device_sample(stage, memory, size, stride, count);
}

struct device_staging_buffer device_staging_buffer_open(enum memory_owner owner, size_t count, size_t size)
{
    void *memory = memory_new_array(owner, count, size);
    return (struct device_staging_buffer){ .host = memory, .device = memory, .bytes = count * size };
}

void device_staging_buffer_close(struct device_staging_buffer *buffer)
{
    memory_free_array(buffer->host);
}

void device_deliver(const struct device_staging_buffer *buffer, size_t bytes)
{
    (void)buffer, (void)bytes;
}

void device_multiply(float *out, const float *x, const float *w, int B, int N, int K)
{
    multiply(CblasRowMajor, CblasNoTrans, CblasNoTrans, B, N, K, 1, x, K, w, N, 0, out, N);
}

void device_multiply_back(float *out, const float *y, const float *w, int B, int N, int K)
{
    multiply(CblasRowMajor, CblasNoTrans, CblasTrans, B, K, N, 1, y, N, w, N, 0, out, K);
}

void device_multiply_outer(float *out, const float *x, const float *y, int B, int N, int K)
{
    multiply(CblasRowMajor, CblasTrans, CblasNoTrans, K, N, B, 1, x, K, y, N, 0, out, N);
}

WIDE void device_gelu(float *restrict z, float *restrict slope, const float *restrict bias, int B, int N)
{
    for (int b = 0; b < B; b++) {
        float *restrict row = z + (size_t)b * (size_t)N;
        float *restrict out = slope + (size_t)b * (size_t)N;
        for (int n = 0; n < N; n++) {
            float x = row[n] + bias[n];
            float bell = fast_exp(-0.5f * x * x); /* e^(-u^2) at u = x / sqrt 2, for both erf and the slope */
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

WIDE void device_cross_entropy(double *loss, float *restrict logits, const float *restrict bias,
                               const int32_t *restrict labels, int B, int N, float scale)
{
    *loss = 0;
    for (int b = 0; b < B; b++) {
        float *restrict row = logits + (size_t)b * (size_t)N;
        float most = -INFINITY;
#pragma omp simd reduction(max : most)
        for (int n = 0; n < N; n++) {
            row[n] += bias[n];
            most = row[n] > most ? row[n] : most;
        }
        float of_label = row[labels[b]] - most;
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int n = 0; n < N; n++) {
            row[n] = fast_exp(row[n] - most);
            sum += row[n];
        }
        *loss += log((double)sum) - (double)of_label;
        float factor = scale / sum;
        for (int n = 0; n < N; n++)
            row[n] *= factor;
        row[labels[b]] -= scale;
    }
}

WIDE void device_column_sums(float *restrict out, const float *restrict x, int B, int N)
{
    memset(out, 0, (size_t)N * sizeof *out);
    for (int b = 0; b < B; b++)
        for (int n = 0; n < N; n++)
            out[n] += x[(size_t)b * (size_t)N + (size_t)n];
}

void device_copy(float *out, const float *x, size_t count)
{
    memcpy(out, x, count * sizeof *out);
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
