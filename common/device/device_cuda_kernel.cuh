/* device_cuda_kernel: code shared by the kernels, which compute device.h's operations on a GPU. Matrix products are
 * cuBLAS's. For device_cuda_*.cu only.
 *
 * Kernels compute little: a kernel is as fast as memory delivers, 4.8 TB/s on an H200. If its data fit into the L2
 * cache (50 MB), it takes only the time of a launch, about 2 us. Only the MLP's parameters do not fit. Hence one launch
 * per operation, 16 bytes per access where addresses allow it, and otherwise the plainest loops.
 *
 * Sums are taken in an order that depends on sizes alone, never by atomic additions of floats: replicas are compared
 * bit by bit.
 *
 * Legend: B rows, N columns, b and n one of them; V columns that one thread takes together. A warp is 32 threads that
 * step together. Blocks are (32,8) threads: threadIdx.y is the warp's number, threadIdx.x the lane's. */
#ifndef LOCKSTEP_DEVICE_CUDA_KERNEL_CUH
#define LOCKSTEP_DEVICE_CUDA_KERNEL_CUH

#include "device/device_cuda.h"

#include <cuda_runtime.h>

#include <initializer_list>
#include <math.h>

/* Unroll the loop that follows, whose rounds are known at compile time, so that arrays stay in registers. */
#ifdef __CUDACC__
#define UNROLLED _Pragma("unroll")
#else /* compiled for the CPU, by the tests */
#define UNROLLED
#endif

constexpr int ACROSS = 32, DOWN = 8, THREADS = ACROSS * DOWN;
constexpr unsigned int WHOLE_WARP = 0xffffffff;

inline int divide_up(int x, int by)
{
    return (x + by - 1) / by;
}

/* Launch a kernel, unless the grid has no blocks. All launches go through here. */
template <typename... Expected, typename... Actual>
static void launch(const char *what, cudaStream_t stream, dim3 grid, void (*kernel)(Expected...), Actual... arguments)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = dim3(ACROSS, DOWN);
    config.stream = stream;
    if (grid.x > 0 && grid.y > 0)
        cuda_must(cudaLaunchKernelEx(&config, kernel, arguments...), what);
}

inline dim3 blocks(int x, int y = 1)
{
    return dim3(static_cast<unsigned int>(x), static_cast<unsigned int>(y));
}

/* --- V numbers together ------------------------------------------------------------------------------------------- */

/* V numbers, loaded and stored by one instruction. */
template <int V, typename T = float> struct alignas(V * sizeof(T)) pack {
    T at[V];
};

template <int V, typename T> static __device__ pack<V, T> load(const T *from)
{
    return *reinterpret_cast<const pack<V, T> *>(from);
}

template <int V, typename T> static __device__ void store(T *to, const pack<V, T> &x)
{
    *reinterpret_cast<pack<V, T> *>(to) = x;
}

/* True if rows of N floats can be accessed four at a time in all of these arrays. */
inline bool by_fours(size_t N, std::initializer_list<const void *> arrays)
{
    bool fits = N % 4 == 0;
    for (const void *array : arrays)
        fits = fits && reinterpret_cast<uintptr_t>(array) % 16 == 0;
    return fits;
}

inline __device__ int thread_of_block()
{
    return static_cast<int>(threadIdx.y) * ACROSS + static_cast<int>(threadIdx.x);
}

inline __device__ size_t place(int b, int N, int n)
{
    return static_cast<size_t>(b) * static_cast<size_t>(N) + static_cast<size_t>(n);
}

/* --- row by row: item.at<V>(b, n) handles V columns of row b from n on --------------------------------------------- */

template <int V, typename Item> static __global__ void __launch_bounds__(THREADS) each_cell(Item item, int B, int N)
{
    int n = V * static_cast<int>(blockIdx.x * ACROSS + threadIdx.x), step = static_cast<int>(gridDim.y) * DOWN;
    if (n < N)
        for (int b = static_cast<int>(blockIdx.y * DOWN + threadIdx.y); b < B; b += step)
            item.template at<V>(b, n);
}

template <typename Item>
static void launch_cells(const char *what, cudaStream_t stream, Item item, int B, int N,
                         std::initializer_list<const void *> arrays)
{
    constexpr int most = 65535; /* CUDA's limit of blocks in y */
    bool fours = by_fours(static_cast<size_t>(N), arrays);
    dim3 grid = blocks(divide_up(fours ? N / 4 : N, ACROSS), min(divide_up(B, DOWN), most));
    launch(what, stream, grid, fours ? each_cell<4, Item> : each_cell<1, Item>, item, B, N);
}

/* --- element by element: item.at<V>(i) handles V elements from i on ----------------------------------------------- */

template <int V, typename Item> static __global__ void __launch_bounds__(THREADS) each_element(Item item, size_t count)
{
    size_t packs = count / V, i = static_cast<size_t>(blockIdx.x) * THREADS + static_cast<size_t>(thread_of_block());
    if (i < packs)
        item.template at<V>(i * V);
    if (i < count % V) /* remaining elements, fewer than V */
        item.template at<1>(packs * V + i);
}

/* Return the grid for `threads` threads. */
inline dim3 grid_of(size_t threads)
{
    return dim3(static_cast<unsigned int>((threads + THREADS - 1) / THREADS));
}

template <typename Item>
static void launch_elements(const char *what, cudaStream_t stream, Item item, size_t count,
                            std::initializer_list<const void *> arrays)
{
    bool fours = by_fours(0, arrays);
    size_t packs = fours ? (count + 3) / 4 : count;
    launch(what, stream, grid_of(packs), fours ? each_element<4, Item> : each_element<1, Item>, item, count);
}

/* --- bf16 --------------------------------------------------------------------------------------------------------- */

/* Round to the same bits as bf16_round() of bf16.h. */
inline __device__ uint16_t round_to_bf16(float value)
{
    uint32_t bits = __float_as_uint(value);
    uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16, quiet = bits >> 16 | 0x40u;
    bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
    return static_cast<uint16_t>(is_nan ? quiet : rounded);
}

inline __device__ float widen_bf16(uint16_t half)
{
    return __uint_as_float(static_cast<uint32_t>(half) << 16);
}

/* --- sums of a warp, of a block and of several -------------------------------------------------------------------- */

struct larger {
    template <typename T> __device__ T operator()(T x, T y) const
    {
        return y > x ? y : x;
    }
};

struct sum {
    template <typename T> __device__ T operator()(T x, T y) const
    {
        return x + y;
    }
};

/* Reduce over each group of LANES neighbours; every lane gets its group's result. x + y equals y + x, so all lanes get
 * the same bits. */
template <typename Operation, int LANES = ACROSS, typename T> static __device__ T over_lanes(T mine)
{
    for (int apart = LANES / 2; apart > 0; apart /= 2)
        mine = Operation()(mine, __shfl_xor_sync(WHOLE_WARP, mine, apart));
    return mine;
}

/* Reduce over the block; every thread gets the result. */
template <typename Operation, typename T> static __device__ T over_block(T mine)
{
    __shared__ T of_warp[DOWN];
    mine = over_lanes<Operation>(mine);
    if (threadIdx.x == 0)
        of_warp[threadIdx.y] = mine;
    __syncthreads();
    T all = of_warp[0];
    for (int warp = 1; warp < DOWN; warp++)
        all = Operation()(all, of_warp[warp]);
    __syncthreads(); /* `of_warp` is free again */
    return all;
}

/* SUMS numbers of a column. */
template <int SUMS> struct column {
    float of[SUMS];
};

/* Sum over the block's warps, per lane. The threads of warp 0 get the sums. */
template <int SUMS> static __device__ column<SUMS> over_warps(const column<SUMS> &mine)
{
    __shared__ float all[SUMS][DOWN][ACROSS];
    column<SUMS> total = {};
    for (int s = 0; s < SUMS; s++)
        all[s][threadIdx.y][threadIdx.x] = mine.of[s];
    __syncthreads();
    if (threadIdx.y == 0)
        for (int s = 0; s < SUMS; s++)
            for (int warp = 0; warp < DOWN; warp++)
                total.of[s] += all[s][warp][threadIdx.x];
    __syncthreads(); /* `all` is free again */
    return total;
}

/* True if all others of `blocks` blocks have called this before. Their earlier writes can then be read. */
inline __device__ bool is_last_block(unsigned int *arrived, unsigned int blocks)
{
    __shared__ bool is_last;
    __syncthreads();
    if (thread_of_block() == 0) {
        __threadfence();
        is_last = atomicAdd(arrived, 1u) == blocks - 1;
        if (is_last)
            *arrived = 0; /* reset for the next launch */
        __threadfence();
    }
    __syncthreads();
    return is_last;
}

#endif
