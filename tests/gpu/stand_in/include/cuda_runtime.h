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

/* Wait for all threads of the block that have not ended. */
void block_sync(const char *file, int line);

/* Warp-level primitives. */
enum class warp_primitive { sync, ballot, shuffle, shuffle_xor };

/* Wait for the lanes of the warp in `mask` that have not ended, then return this lane's result of the primitive. */
uint64_t warp_run(warp_primitive kind, unsigned int mask, uint64_t value, int argument, int width, const char *file,
                  int line);

template <typename To, typename From> inline To bits_as(From from)
{
    static_assert(sizeof(To) == sizeof(From) && std::is_trivially_copyable_v<From>);
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

template <typename T>
inline T shuffle(warp_primitive kind, unsigned int mask, T value, int argument, int width, const char *file, int line)
{
    static_assert(std::is_arithmetic_v<T> && (sizeof value == 4 || sizeof value == 8), "int, long, float or double");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = warp_run(kind, mask, bits, argument, width, file, line);
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
    stand_in::block_sync(file, line);
}

inline void __syncwarp(unsigned int mask = 0xffffffff, STAND_IN_SITE)
{
    stand_in::warp_run(stand_in::warp_primitive::sync, mask, 0, 0, warpSize, file, line);
}

/* A common word whose atomic change acts as a fence, since ThreadSanitizer does not understand plain fences. */
inline unsigned int stand_in_fence;

inline void __threadfence()
{
    __atomic_fetch_add(&stand_in_fence, 0, __ATOMIC_SEQ_CST);
}

/* ---- the lanes of a warp. The value of a lane that takes no part is all ones: NaN, or -1. */

inline unsigned int __ballot_sync(unsigned int mask, int predicate, STAND_IN_SITE)
{
    return static_cast<unsigned int>(
        stand_in::warp_run(stand_in::warp_primitive::ballot, mask, predicate != 0, 0, warpSize, file, line));
}

template <typename T> inline T __shfl_sync(unsigned int mask, T value, int lane, int width = warpSize, STAND_IN_SITE)
{
    return stand_in::shuffle(stand_in::warp_primitive::shuffle, mask, value, lane, width, file, line);
}

template <typename T>
inline T __shfl_xor_sync(unsigned int mask, T value, int lanes, int width = warpSize, STAND_IN_SITE)
{
    return stand_in::shuffle(stand_in::warp_primitive::shuffle_xor, mask, value, lanes, width, file, line);
}

/* A real atomic, since kernels of several streams run at once. Returns the old value. */
inline unsigned int atomicAdd(unsigned int *address, unsigned int value)
{
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}

/* ---- bits and numbers */

inline unsigned int __float_as_uint(float x)
{
    return stand_in::bits_as<unsigned int>(x);
}

inline float __uint_as_float(unsigned int x)
{
    return stand_in::bits_as<float>(x);
}

inline int __popc(unsigned int x)
{
    return __builtin_popcount(x);
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
#undef STAND_IN_LEAST_AND_MOST

#endif /* __cplusplus */

#endif
