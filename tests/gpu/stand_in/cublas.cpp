/* cublas.cpp: matrix products of the stand-in (README.md), with the CPU's BLAS, on the handle's stream. */
#include "include/cublas_v2.h"
#include "stand_in.h"

#include <cblas.h>
#include <cmath>
#include <vector>

/* If the BLAS is OpenBLAS, use one thread, so that the order of sums does not depend on the machine. */
extern "C" void openblas_set_num_threads(int threads) __attribute__((weak));

struct cublasContext {
    cudaStream_t stream;
};

namespace stand_in
{

/* A matrix in memory: columns of `rows` floats, `lead` floats apart. */
struct matrix {
    const float *at;
    int rows, columns, lead;
};

/* op(A) (m,k) op(B) (k,n), C (m,n) */
struct product {
    CBLAS_TRANSPOSE transpose_a, transpose_b;
    int m, n, k;
    float alpha, beta;
    matrix a, b;
    float *c;
    int lead_c;
    int mantissa; /* bits to which factors are rounded */
};

constexpr int FLOAT_BITS = 23, TF32_BITS = 10, BF16_BITS = 7;

/* Round to the nearest number with this many bits of mantissa, ties to even. */
static float rounded(float x, int mantissa)
{
    if (mantissa >= FLOAT_BITS || !std::isfinite(x))
        return x;
    const int dropped = FLOAT_BITS - mantissa;
    uint32_t bits = bits_as<uint32_t>(x);
    bits += (1u << (dropped - 1)) - 1 + (bits >> dropped & 1);
    return bits_as<float>(bits & ~((1u << dropped) - 1));
}

static std::vector<float> matrix_rounded(const matrix &x, int mantissa)
{
    std::vector<float> out;
    out.reserve(static_cast<size_t>(x.rows) * static_cast<size_t>(x.columns));
    for (int column = 0; column < x.columns; column++)
        for (int row = 0; row < x.rows; row++)
            out.push_back(rounded(x.at[row + static_cast<ptrdiff_t>(column) * x.lead], mantissa));
    return out;
}

static void product_run(const product &p)
{
    if (p.mantissa >= FLOAT_BITS) {
        cblas_sgemm(CblasColMajor, p.transpose_a, p.transpose_b, p.m, p.n, p.k, p.alpha, p.a.at, p.a.lead, p.b.at,
                    p.b.lead, p.beta, p.c, p.lead_c);
        return;
    }
    const std::vector<float> a = matrix_rounded(p.a, p.mantissa), b = matrix_rounded(p.b, p.mantissa);
    cblas_sgemm(CblasColMajor, p.transpose_a, p.transpose_b, p.m, p.n, p.k, p.alpha, a.data(), std::max(p.a.rows, 1),
                b.data(), std::max(p.b.rows, 1), p.beta, p.c, p.lead_c);
}

/* Fail if the matrix is not within device memory. The real library would access invalid memory or use wrong data. */
static void matrix_check(const char *name, const matrix &x)
{
    if (x.rows == 0 || x.columns == 0)
        return;
    const size_t floats =
        static_cast<size_t>(x.lead) * static_cast<size_t>(x.columns - 1) + static_cast<size_t>(x.rows);
    if (!memory_is_device(x.at, floats * sizeof *x.at))
        fail("cuBLAS: %s, %d columns of %d floats with %d between them, does not lie within device memory", name,
             x.columns, x.rows, x.lead);
}

static cublasStatus_t product_queue(cublasHandle_t handle, const product &p)
{
    if (p.m < 0 || p.n < 0 || p.k < 0 || p.a.lead < std::max(p.a.rows, 1) || p.b.lead < std::max(p.b.rows, 1) ||
        p.lead_c < std::max(p.m, 1))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (p.m == 0 || p.n == 0)
        return CUBLAS_STATUS_SUCCESS;
    matrix_check("A", p.a);
    matrix_check("B", p.b);
    matrix_check("C", matrix{ p.c, p.m, p.n, p.lead_c });
    return stream_queue(handle->stream, [p] { product_run(p); }) ? CUBLAS_STATUS_EXECUTION_FAILED
                                                                 : CUBLAS_STATUS_SUCCESS;
}

static CBLAS_TRANSPOSE transpose_of(cublasOperation_t operation)
{
    return operation == CUBLAS_OP_N ? CblasNoTrans : CblasTrans;
}

} // namespace stand_in

using namespace stand_in;

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    if (device_seen() != cudaSuccess)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (openblas_set_num_threads)
        openblas_set_num_threads(1);
    *handle = new cublasContext{ nullptr };
    return CUBLAS_STATUS_SUCCESS;
}

/* Waits for the device, like the real function. */
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    if (!handle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    cudaDeviceSynchronize();
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int *version)
{
    *version = CUBLAS_VERSION;
    return CUBLAS_STATUS_SUCCESS;
}

/* The workspace is not used, but it must be valid for the real function. */
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t workspaceSizeInBytes)
{
    if (!handle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    const bool aligned = reinterpret_cast<uintptr_t>(workspace) % 256 == 0;
    return aligned && (!workspaceSizeInBytes || memory_is_device(workspace, workspaceSizeInBytes))
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t streamId)
{
    if (!handle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->stream = streamId;
    return CUBLAS_STATUS_SUCCESS;
}

/* Without effect: in the default mode, only a compute type rounds the factors. */
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
    if (!handle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    return mode == CUBLAS_DEFAULT_MATH ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS:
        return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
        return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_INVALID_VALUE:
        return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED:
        return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return "CUBLAS_STATUS_NOT_SUPPORTED";
    }
    return "unknown status";
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                            int k, const void *alpha, const void *A, cudaDataType Atype, int lda, const void *B,
                            cudaDataType Btype, int ldb, const void *beta, void *C, cudaDataType Ctype, int ldc,
                            cublasComputeType_t computeType, cublasGemmAlgo_t)
{
    if (!handle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (Atype != CUDA_R_32F || Btype != CUDA_R_32F || Ctype != CUDA_R_32F)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!alpha || !beta)
        return CUBLAS_STATUS_INVALID_VALUE;
    int mantissa = FLOAT_BITS;
    if (computeType == CUBLAS_COMPUTE_32F_FAST_TF32)
        mantissa = TF32_BITS;
    else if (computeType == CUBLAS_COMPUTE_32F_FAST_16BF)
        mantissa = BF16_BITS;
    else if (computeType != CUBLAS_COMPUTE_32F)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    const bool a_plain = transa == CUBLAS_OP_N, b_plain = transb == CUBLAS_OP_N;
    return product_queue(handle,
                         product{ transpose_of(transa), transpose_of(transb), m, n, k,
                                  *static_cast<const float *>(alpha), *static_cast<const float *>(beta),
                                  matrix{ static_cast<const float *>(A), a_plain ? m : k, a_plain ? k : m, lda },
                                  matrix{ static_cast<const float *>(B), b_plain ? k : n, b_plain ? n : k, ldb },
                                  static_cast<float *>(C), ldc, mantissa });
}
