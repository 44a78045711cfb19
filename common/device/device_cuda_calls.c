/* Implement the operations of device.h on a GPU: matrix products by cuBLAS, all others in device_cuda_*.cu. */
#include "base/die.h"
#include "device/device.h"
#include "device/device_cuda.h"

#include <cublas_v2.h>
#include <stdlib.h>
#include <string.h>

enum { WORKSPACE_BYTES = 32u << 20 }; /* advice of the cuBLAS manual for compute capability 9.0 */

/* Static, because a process uses one device, which the functions of device.h do not name. */
static struct {
    cublasHandle_t blas;
    void *workspace; /* one stream with its own workspace: products have the same bits in every run */
    cublasComputeType_t compute;

    struct cuda_parts parts; /* parts of sums; as large as any operation has needed so far */
    size_t part_bytes, arrivals;
} work;

static void blas_must(cublasStatus_t status, const char *what)
{
    if (status != CUBLAS_STATUS_SUCCESS)
        cuda_die(what, cublasGetStatusString(status));
}

/* Refuse an NVIDIA_TF32_OVERRIDE that contradicts the precision. NVIDIA's libraries let this environment variable
 * overrule the program, and its results would state the wrong precision. 0 forbids rounding the factors of products to
 * tf32; any other value allows it. */
static void refuse_override(enum precision precision)
{
    const char *set = getenv("NVIDIA_TF32_OVERRIDE");
    if (set && strcmp(set, precision == PRECISION_TF32 ? "1" : "0") != 0)
        die(STATUS_CANNOT, "NVIDIA_TF32_OVERRIDE=%s overrules --precision %s; unset it", set,
            precision_name(precision));
}

/* Keep fp32 as fp32: in the default math mode, only a compute type that requests it rounds the factors. */
void cuda_work_open(enum precision precision)
{
    static const cublasComputeType_t compute[] = { [PRECISION_FP32] = CUBLAS_COMPUTE_32F,
                                                   [PRECISION_TF32] = CUBLAS_COMPUTE_32F_FAST_TF32,
                                                   [PRECISION_BF16] = CUBLAS_COMPUTE_32F_FAST_16BF };
    refuse_override(precision);
    work.compute = compute[precision];
    work.workspace = device_new(MEMORY_PROGRAM, WORKSPACE_BYTES, 1);
    blas_must(cublasCreate(&work.blas), "cublasCreate");
    blas_must(cublasSetStream(work.blas, cuda_stream()), "cublasSetStream"); /* first: it resets the workspace */
    blas_must(cublasSetWorkspace(work.blas, work.workspace, WORKSPACE_BYTES), "cublasSetWorkspace");
    blas_must(cublasSetMathMode(work.blas, CUBLAS_DEFAULT_MATH), "cublasSetMathMode");
}

void cuda_work_close(void)
{
    blas_must(cublasDestroy(work.blas), "cublasDestroy");
    device_free(work.workspace);
    device_free(work.parts.part);
    device_free(work.parts.arrived);
    memset(&work, 0, sizeof work);
}

int cuda_work_version(void)
{
    int version = 0;
    blas_must(cublasGetVersion(work.blas, &version), "cublasGetVersion");
    return version;
}

/* --- matrix products: cuBLAS is column-major, so matrices are passed as their transposes, in swapped order -------- */

/* out (rows,columns) = left right. Each factor is used as stored, or transposed. `inner` is their shared dimension. */
struct factor {
    const float *x;
    int pitch;
    cublasOperation_t as;
};

static void multiply(float *out, struct factor left, struct factor right, int rows, int columns, int inner)
{
    const float one = 1, zero = 0;
    blas_must(cublasGemmEx(work.blas, right.as, left.as, columns, rows, inner, &one, right.x, CUDA_R_32F, right.pitch,
                           left.x, CUDA_R_32F, left.pitch, &zero, out, CUDA_R_32F, columns, work.compute,
                           CUBLAS_GEMM_DEFAULT),
              "cublasGemmEx");
}

void device_multiply(float *out, const float *x, const float *w, int B, int N, int K)
{
    multiply(out, (struct factor){ x, K, CUBLAS_OP_N }, (struct factor){ w, N, CUBLAS_OP_N }, B, N, K);
}

void device_multiply_back(float *out, const float *y, const float *w, int B, int N, int K)
{
    multiply(out, (struct factor){ y, N, CUBLAS_OP_N }, (struct factor){ w, N, CUBLAS_OP_T }, B, K, N);
}

void device_multiply_outer(float *out, const float *x, const float *y, int B, int N, int K)
{
    multiply(out, (struct factor){ x, K, CUBLAS_OP_T }, (struct factor){ y, N, CUBLAS_OP_N }, K, N, B);
}

/* --- other operations -------------------------------------------------------------------------------------------- */

/* Return parts with at least this much memory. It grows only in a program's first step. */
static struct cuda_parts reserve_parts(size_t bytes, size_t arrivals)
{
    if (bytes > work.part_bytes) {
        device_free(work.parts.part);
        work.parts.part = device_new(MEMORY_ACTIVATIONS, bytes, 1);
        work.part_bytes = bytes;
    }
    if (arrivals > work.arrivals) {
        device_free(work.parts.arrived);
        work.parts.arrived = device_new(MEMORY_ACTIVATIONS, arrivals, sizeof(unsigned int));
        work.arrivals = arrivals;
    }
    return work.parts;
}

static struct cuda_parts column_parts(int N)
{
    return reserve_parts(cuda_column_parts(N) * sizeof(float), cuda_column_arrivals(N));
}

void device_gelu(float *z, float *slope, const float *bias, int B, int N)
{
    cuda_gelu(cuda_stream(), z, slope, bias, B, N);
}

void device_gelu_back(float *d, const float *slope, float *bias_gradient, int B, int N)
{
    cuda_gelu_back(cuda_stream(), column_parts(N), d, slope, bias_gradient, B, N);
}

void device_cross_entropy(double *loss, float *logits, const float *bias, const int32_t *labels, int B, int N,
                          float scale)
{
    struct cuda_parts parts = reserve_parts((size_t)B * sizeof(double), 1);
    cuda_cross_entropy(cuda_stream(), parts, loss, logits, bias, labels, B, N, scale);
}

void device_column_sums(float *out, const float *x, int B, int N)
{
    cuda_column_sums(cuda_stream(), column_parts(N), out, x, B, N);
}

void device_gather(float *out, const float *table, const int32_t *index, int B, int N)
{
    cuda_gather(cuda_stream(), out, table, index, B, N);
}

void device_scatter(float *out, int rows, const float *x, const int32_t *index, int B, int N)
{
    cuda_scatter(cuda_stream(), out, rows, x, index, B, N);
}

void device_residual(float *x, const float *beside, const float *bias, int B, int N)
{
    cuda_residual(cuda_stream(), x, beside, bias, B, N);
}

void device_layer_norm(float *y, float *moments, const float *x, const float *weight, const float *bias, int B, int N)
{
    cuda_layer_norm(cuda_stream(), y, moments, x, weight, bias, B, N);
}

void device_layer_norm_back(float *d, float *weight_gradient, float *bias_gradient, const float *back, const float *x,
                            const float *moments, const float *weight, int B, int N)
{
    struct cuda_norm norm = { .d = d,
                              .weight_gradient = weight_gradient,
                              .bias_gradient = bias_gradient,
                              .back = back,
                              .x = x,
                              .moments = moments,
                              .weight = weight };
    cuda_layer_norm_back(cuda_stream(), column_parts(N), norm, B, N);
}

void device_mean_pool(float *out, const float *x, const struct sequence *text, int texts, int N)
{
    cuda_mean_pool(cuda_stream(), out, x, text, texts, N);
}

void device_mean_pool_back(float *d, const float *back, const struct sequence *text, int texts, int N)
{
    cuda_mean_pool_back(cuda_stream(), d, back, text, texts, N);
}

static struct cuda_heads heads_of(const struct attention *a)
{
    return (struct cuda_heads){ .text = a->text,
                                .texts = a->texts,
                                .longest = a->longest,
                                .heads = a->heads,
                                .head_width = a->head_width,
                                .projected = a->projected,
                                .bias = a->bias,
                                .out = a->out,
                                .log_sum = a->log_sum };
}

void device_attention(const struct attention *a)
{
    cuda_attention(cuda_stream(), heads_of(a));
}

void device_attention_back(float *back, const float *d, const struct attention *a)
{
    cuda_attention_back(cuda_stream(), back, d, heads_of(a));
}

/* Return 0: scores are kept in registers. */
int device_attention_queries(int extent)
{
    return extent;
}

size_t device_attention_scratch(int most_length)
{
    (void)most_length;
    return 0;
}

void device_fill(float *out, float value, size_t count)
{
    cuda_fill(cuda_stream(), out, value, count);
}

void device_copy(float *out, const float *x, size_t count)
{
    cuda_must(cudaMemcpyAsync(out, x, count * sizeof *out, cudaMemcpyDeviceToDevice, cuda_stream()), "cudaMemcpyAsync");
}

void device_scale(float *out, const float *x, float scale, size_t count)
{
    cuda_scale(cuda_stream(), out, x, scale, count);
}

void device_narrow(uint16_t *out, const float *x, size_t count)
{
    cuda_narrow(cuda_stream(), out, x, count);
}

void device_widen(float *out, const uint16_t *x, size_t count)
{
    cuda_widen(cuda_stream(), out, x, count);
}

void device_add(float *sum, const float *x, size_t count)
{
    cuda_add(cuda_stream(), sum, x, count);
}

void device_adamw(float *p, float *m, float *v, const float *g, size_t count, const struct adamw_rates *rates)
{
    struct cuda_adamw_step step = { .p = p,
                                    .m = m,
                                    .v = v,
                                    .g = g,
                                    .beta1 = rates->beta1,
                                    .beta2 = rates->beta2,
                                    .keep = 1.0f - rates->rate * rates->weight_decay,
                                    .step = rates->rate / rates->correction1,
                                    .shrink = 1.0f / rates->correction2,
                                    .epsilon = rates->epsilon };
    cuda_adamw(cuda_stream(), step, count);
}
