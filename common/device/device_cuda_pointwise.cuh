/* device_cuda_pointwise: what the kernels of pointwise.h and chain.h share: cells in either storage, the functions of operations, halves,
 * and rows whose cells stay in a block's registers. For device_cuda_*.cu only.
 *
 * Results are those of the CPU's loops, with the exact e^x and erf in place of their approximations. */
#ifndef LOCKSTEP_DEVICE_CUDA_POINTWISE_CUH
#define LOCKSTEP_DEVICE_CUDA_POINTWISE_CUH

#include "device/device_cuda_kernel.cuh"
#include "device/pointwise.h"

#include <type_traits>

/* --- cells in either storage --------------------------------------------------------------------------------------- */

inline __device__ float to_float(float x)
{
    return x;
}

inline __device__ float to_float(uint16_t x)
{
    return widen_bf16(x);
}

/* Return a value as the storage T holds it. */
template <typename T> static __device__ T stored(float x)
{
    if constexpr (sizeof(T) == sizeof(float))
        return x;
    else
        return round_to_bf16(x);
}

/* Round to what the storage T holds. */
template <typename T> static __device__ float rounded(float x)
{
    return to_float(stored<T>(x));
}

template <int V, typename T> static __device__ pack<V> load_floats(const T *from)
{
    pack<V, T> raw = load<V>(from);
    pack<V> x;
    for (int k = 0; k < V; k++)
        x.at[k] = to_float(raw.at[k]);
    return x;
}

template <int V, typename T> static __device__ void store_floats(T *to, const pack<V> &x)
{
    pack<V, T> raw;
    for (int k = 0; k < V; k++)
        raw.at[k] = stored<T>(x.at[k]);
    store<V>(to, raw);
}

/* --- functions of operations ---------------------------------------------------------------------------------------- */

inline __device__ float sigmoid_of(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

/* Return Phi(x), the share of the normal distribution below x. */
inline __device__ float normal_share(float x)
{
    return 0.5f + 0.5f * erff(x * 0.70710678f);
}

inline __device__ float gelu_of(float x)
{
    return x * normal_share(x);
}

inline __device__ float gelu_slope(float x)
{
    return normal_share(x) + x * 0.39894228f * expf(-0.5f * x * x);
}

/* --- halves (half.h) ------------------------------------------------------------------------------------------------- */

/* Keep the compiler from computing only once what HALF_BYTES computes twice: it cannot know that x stays as it is. */
inline __device__ void hide(float &x)
{
#ifdef __CUDACC__
    asm volatile("" : "+f"(x));
#else
    asm volatile("" : "+m"(x));
#endif
}

/* Halves of a tensor: the number of times that a cell is computed, 0 (it is moved), 1 or 2. */
struct halves {
    enum half half;
    size_t cols, twice; /* cells of a row; how many cells are computed twice */

    /* Column n of a row. */
    __device__ int of_column(size_t n) const
    {
        if (half != HALF_FLOPS)
            return 1;
        size_t pair = n & ~static_cast<size_t>(2 * HALF_GROUP - 1), left = cols - pair;
        size_t size = left < 2 * HALF_GROUP ? left : 2 * HALF_GROUP, middle = pair + size - size / 2;
        return n < middle;
    }
    __device__ int of_cell(size_t i) const
    {
        if (half == HALF_BYTES)
            return i < twice ? 2 : 1;
        return of_column(i % cols);
    }
};

/* Halves of `rows` rows, or of their cells: the first are computed twice. */
inline halves halves_of(enum half half, size_t rows, size_t cols)
{
    return halves{ half, cols, half == HALF_BYTES ? rows * cols - half_touched(half, rows, cols) : 0 };
}

/* Return x for a cell that is moved, after y and z have been read too. */
inline __device__ float moved(float x, float y, float z)
{
    hide(y);
    hide(z);
    return x;
}

/* --- a block per row: a thread has every THREADS-th column, PER of them ----------------------------------------------- */

/* Call body(k, n) for each column n of this thread, its k-th. Where PER is 0 the row has more columns than threads have registers. */
template <int PER, typename Body> static __device__ void each_column(int N, Body body)
{
    int first = thread_of_block();
    if constexpr (PER > 0) {
        UNROLLED
        for (int k = 0; k < PER; k++)
            if (first + k * THREADS < N)
                body(k, first + k * THREADS);
    } else {
        for (int n = first; n < N; n += THREADS)
            body(0, n);
    }
}

/* A thread's cells of a row: in registers, or in memory of the storage T where PER is 0. */
template <int PER, typename T> struct cells {
    float kept[PER > 0 ? PER : 1];
    T *memory;

    __device__ float get(int k, int n) const
    {
        if constexpr (PER > 0)
            return kept[k];
        else
            return to_float(memory[n]);
    }
    __device__ void set(int k, int n, float x)
    {
        if constexpr (PER > 0)
            kept[k] = x;
        else
            memory[n] = stored<T>(x);
    }
};

/* Call launch(std::integral_constant<int, PER>) with the PER that rows of N columns need. */
template <typename Launch> static void with_columns(int N, Launch launch_with)
{
    int per = divide_up(N, THREADS);
    if (per <= 1)
        launch_with(std::integral_constant<int, 1>());
    else if (per <= 4)
        launch_with(std::integral_constant<int, 4>());
    else if (per <= 16)
        launch_with(std::integral_constant<int, 16>());
    else
        launch_with(std::integral_constant<int, 0>());
}

/* --- gradients of weight and bias, which rows add to ------------------------------------------------------------------- */

/* Memory of blocks that go through rows in turn: a part per block, of which cuda_add_parts() makes sums. */
struct norm_parts {
    float *part; /* (blocks, 2, N): of weight, of bias */
    int blocks;
};

/* Add the parts of all blocks to the gradients, in their order. */
void cuda_add_parts(cudaStream_t stream, norm_parts parts, float *weight_gradient, float *bias_gradient, int N);

#endif
