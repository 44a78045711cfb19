/* cuda_runtime.h: declarations that a .cu file needs to be compiled as C++17 for the CPU: the host's interface, kernel
 * launches with cudaLaunchKernelEx, and the device's built-in variables and functions. In C this is cuda_runtime_api.h.
 *
 * The threads of a block run one at a time and switch only where they wait for each other: at __syncthreads() and at warp
 * functions. These take two hidden arguments, file and line of the call, for messages. */
#ifndef STAND_IN_CUDA_RUNTIME_H
#define STAND_IN_CUDA_RUNTIME_H

#include "cuda_runtime_api.h"

#ifdef __cplusplus

#include <cstdint>
#include <cstring>
#include <functional>
#include <math.h>
#include <type_traits>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
/* A stream's thread runs one block at a time; several streams may run. Not poisoned between blocks. */
#define __shared__ static thread_local

extern __thread uint3 threadIdx;
extern __thread uint3 blockIdx;
extern __thread dim3 blockDim;
extern __thread dim3 gridDim;
constexpr int warpSize = 32;

namespace stand_in
{

/* Queue a kernel; each of its threads is a call of `thread`. */
cudaError_t launch(const cudaLaunchConfig_t *config, std::function<void()> thread);

/* Wait for all threads of the block that have not ended. Return how many of them have a predicate other than 0. */
int block_meet(int predicate, const char *file, int line);

/* Wait for those lanes of the warp in `mask` that have not ended. */
enum class meeting { sync, ballot, shuffle, shuffle_up, shuffle_down, shuffle_xor };
uint64_t warp_meet(meeting kind, unsigned int mask, uint64_t value, int argument, int width, const char *file,
                   int line);

template <typename To, typename From> inline To bits_as(From from)
{
    static_assert(sizeof(To) == sizeof(From) && std::is_trivially_copyable_v<From>);
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

template <typename T>
inline T shuffle(meeting kind, unsigned int mask, T value, int argument, int width, const char *file, int line)
{
    static_assert(std::is_arithmetic_v<T> && (sizeof value == 4 || sizeof value == 8), "int, long, float or double");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = warp_meet(kind, mask, bits, argument, width, file, line);
    memcpy(&value, &bits, sizeof value);
    return value;
}

} // namespace stand_in

/* Launch a kernel. The signature is the real one; the arguments are converted to the kernel's parameters and copied. */
template <typename... Expected, typename... Actual>
inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(Expected...), Actual &&...args)
{
    return [&](Expected... parameters) {
        if (!kernel)
            return stand_in::launch(config, nullptr);
        return stand_in::launch(config, [kernel, parameters...] { kernel(parameters...); });
    }(std::forward<Actual>(args)...);
}

template <typename T> inline cudaError_t cudaMalloc(T **memory, size_t size)
{
    return cudaMalloc(reinterpret_cast<void **>(memory), size);
}

template <typename T> inline cudaError_t cudaMallocHost(T **memory, size_t size)
{
    return cudaMallocHost(reinterpret_cast<void **>(memory), size);
}

/* File and line of the call, as the last two parameters of a function. */
#define STAND_IN_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

/* ---- barriers */

inline void __syncthreads(STAND_IN_SITE)
{
    stand_in::block_meet(0, file, line);
}

inline int __syncthreads_or(int predicate, STAND_IN_SITE)
{
    return stand_in::block_meet(predicate, file, line) != 0;
}

inline int __syncthreads_and(int predicate, STAND_IN_SITE)
{
    return stand_in::block_meet(!predicate, file, line) == 0;
}

inline int __syncthreads_count(int predicate, STAND_IN_SITE)
{
    return stand_in::block_meet(predicate, file, line);
}

inline void __syncwarp(unsigned int mask = 0xffffffff, STAND_IN_SITE)
{
    stand_in::warp_meet(stand_in::meeting::sync, mask, 0, 0, warpSize, file, line);
}

/* A common word whose atomic change acts as a fence, since ThreadSanitizer does not understand plain fences. */
inline unsigned int stand_in_fence;

inline void __threadfence()
{
    __atomic_fetch_add(&stand_in_fence, 0, __ATOMIC_SEQ_CST);
}

inline void __threadfence_block()
{
    __threadfence();
}

/* ---- the lanes of a warp. The value of a lane that takes no part is all ones: NaN, or -1. */

inline unsigned int __ballot_sync(unsigned int mask, int predicate, STAND_IN_SITE)
{
    return static_cast<unsigned int>(
        stand_in::warp_meet(stand_in::meeting::ballot, mask, predicate != 0, 0, warpSize, file, line));
}

inline int __any_sync(unsigned int mask, int predicate, STAND_IN_SITE)
{
    return __ballot_sync(mask, predicate, file, line) != 0;
}

inline int __all_sync(unsigned int mask, int predicate, STAND_IN_SITE)
{
    return __ballot_sync(mask, !predicate, file, line) == 0;
}

template <typename T> inline T __shfl_sync(unsigned int mask, T value, int lane, int width = warpSize, STAND_IN_SITE)
{
    return stand_in::shuffle(stand_in::meeting::shuffle, mask, value, lane, width, file, line);
}

template <typename T>
inline T __shfl_up_sync(unsigned int mask, T value, unsigned int delta, int width = warpSize, STAND_IN_SITE)
{
    return stand_in::shuffle(stand_in::meeting::shuffle_up, mask, value, static_cast<int>(delta), width, file, line);
}

template <typename T>
inline T __shfl_down_sync(unsigned int mask, T value, unsigned int delta, int width = warpSize, STAND_IN_SITE)
{
    return stand_in::shuffle(stand_in::meeting::shuffle_down, mask, value, static_cast<int>(delta), width, file, line);
}

template <typename T>
inline T __shfl_xor_sync(unsigned int mask, T value, int lanes, int width = warpSize, STAND_IN_SITE)
{
    return stand_in::shuffle(stand_in::meeting::shuffle_xor, mask, value, lanes, width, file, line);
}

/* ---- atomics: real ones, since kernels of several streams run at once. All return the old value. */

inline int atomicAdd(int *address, int value)
{
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}

inline unsigned int atomicAdd(unsigned int *address, unsigned int value)
{
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}

inline unsigned long long atomicAdd(unsigned long long *address, unsigned long long value)
{
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}

template <typename T> inline T stand_in_atomic_add(T *address, T value)
{
    T old, sum;
    __atomic_load(address, &old, __ATOMIC_RELAXED);
    do
        sum = old + value;
    while (!__atomic_compare_exchange(address, &old, &sum, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old;
}

inline float atomicAdd(float *address, float value)
{
    return stand_in_atomic_add(address, value);
}

inline double atomicAdd(double *address, double value)
{
    return stand_in_atomic_add(address, value);
}

inline unsigned int atomicInc(unsigned int *address, unsigned int most)
{
    unsigned int old = __atomic_load_n(address, __ATOMIC_RELAXED), next;
    do
        next = old >= most ? 0 : old + 1;
    while (!__atomic_compare_exchange_n(address, &old, next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old;
}

inline int atomicMax(int *address, int value)
{
    int old = __atomic_load_n(address, __ATOMIC_RELAXED);
    while (old < value && !__atomic_compare_exchange_n(address, &old, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    return old;
}

inline unsigned int atomicCAS(unsigned int *address, unsigned int expected, unsigned int value)
{
    __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}

inline unsigned int atomicExch(unsigned int *address, unsigned int value)
{
    return __atomic_exchange_n(address, value, __ATOMIC_RELAXED);
}

/* ---- arithmetic. The fast functions (__expf, …) are as exact as the others here, but not on a device. */

template <typename T> inline T __ldg(const T *address)
{
    return *address;
}

inline float stand_in_rsqrtf(float x)
{
    return 1.0f / sqrtf(x);
}

/* These are macros, since the C library may declare some of them without a definition. */
#define rsqrtf(x)          stand_in_rsqrtf(x)
#define __frsqrt_rn(x)     stand_in_rsqrtf(x)
#define __expf(x)          expf(x)
#define __logf(x)          logf(x)
#define __powf(x, y)       powf(x, y)
#define __fdividef(x, y)   ((x) / (y))
#define __fsqrt_rn(x)      sqrtf(x)
#define __fmaf_rn(x, y, z) fmaf(x, y, z)

/* Keep the compiler from contracting an operation with others, as on the device. The asm statement hides the result. */
inline float stand_in_exact(float x)
{
    __asm__("" : "+m"(x));
    return x;
}

inline float __fadd_rn(float x, float y)
{
    return stand_in_exact(x + y);
}

inline float __fmul_rn(float x, float y)
{
    return stand_in_exact(x * y);
}

inline unsigned int __float_as_uint(float x)
{
    return stand_in::bits_as<unsigned int>(x);
}

inline int __float_as_int(float x)
{
    return stand_in::bits_as<int>(x);
}

inline float __uint_as_float(unsigned int x)
{
    return stand_in::bits_as<float>(x);
}

inline float __int_as_float(int x)
{
    return stand_in::bits_as<float>(x);
}

inline int __popc(unsigned int x)
{
    return __builtin_popcount(x);
}

inline int __ffs(int x)
{
    return __builtin_ffs(x);
}

inline int __clz(int x)
{
    return x ? __builtin_clz(static_cast<unsigned int>(x)) : 32;
}

#define STAND_IN_LEAST_AND_MOST(type)                                                                                  \
    inline constexpr type min(type a, type b)                                                                          \
    {                                                                                                                  \
        return b < a ? b : a;                                                                                          \
    }                                                                                                                  \
    inline constexpr type max(type a, type b)                                                                          \
    {                                                                                                                  \
        return a < b ? b : a;                                                                                          \
    }
STAND_IN_LEAST_AND_MOST(int)
STAND_IN_LEAST_AND_MOST(unsigned int)
STAND_IN_LEAST_AND_MOST(long)
STAND_IN_LEAST_AND_MOST(unsigned long)
STAND_IN_LEAST_AND_MOST(long long)
STAND_IN_LEAST_AND_MOST(unsigned long long)
#undef STAND_IN_LEAST_AND_MOST

/* ---- vectors */

inline constexpr float2 make_float2(float x, float y)
{
    return float2{ x, y };
}

inline constexpr float3 make_float3(float x, float y, float z)
{
    return float3{ x, y, z };
}

inline constexpr float4 make_float4(float x, float y, float z, float w)
{
    return float4{ x, y, z, w };
}

inline constexpr double2 make_double2(double x, double y)
{
    return double2{ x, y };
}

inline constexpr int2 make_int2(int x, int y)
{
    return int2{ x, y };
}

inline constexpr int4 make_int4(int x, int y, int z, int w)
{
    return int4{ x, y, z, w };
}

inline constexpr uint2 make_uint2(unsigned int x, unsigned int y)
{
    return uint2{ x, y };
}

inline constexpr uint4 make_uint4(unsigned int x, unsigned int y, unsigned int z, unsigned int w)
{
    return uint4{ x, y, z, w };
}

inline constexpr ushort2 make_ushort2(unsigned short x, unsigned short y)
{
    return ushort2{ x, y };
}

inline constexpr ushort4 make_ushort4(unsigned short x, unsigned short y, unsigned short z, unsigned short w)
{
    return ushort4{ x, y, z, w };
}

#endif /* __cplusplus */

#endif
