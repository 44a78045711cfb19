/* test_stand_in.cpp: test that the stand-in works, and that tests with the stand-in can fail: a kernel without its barrier,
 * a stream that does not wait, a collective without its peer.
 *
 *     test_stand_in          run all cases, each in its own process, since most settings are read once
 *     test_stand_in CASE     run one case
 *     test_stand_in --cost   print the cost of an emulated thread, a barrier and a warp function on this machine */
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <nccl.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <functional>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

enum { WRONG_RESULT = 3 }; /* exit status of a case that is meant to go wrong */

#define MUST(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                    \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)
#define OK(call) MUST((call) == cudaSuccess)

static cudaStream_t stream_of_mine()
{
    cudaStream_t stream;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

template <typename T> static T *device_new(size_t count)
{
    T *memory;
    OK(cudaMalloc(&memory, count * sizeof *memory));
    return memory;
}

template <typename T> static std::vector<T> fetched(const T *memory, size_t count)
{
    std::vector<T> host(count);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(host.data(), memory, count * sizeof *memory, cudaMemcpyDeviceToHost));
    return host;
}

template <typename T> static T *device_copy(const std::vector<T> &host)
{
    T *memory = device_new<T>(host.size());
    OK(cudaMemcpy(memory, host.data(), host.size() * sizeof *memory, cudaMemcpyHostToDevice));
    return memory;
}

template <typename... Expected, typename... Actual>
static void run(dim3 grid, dim3 block, cudaStream_t stream, void (*kernel)(Expected...), Actual... arguments)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.stream = stream;
    OK(cudaLaunchKernelEx(&config, kernel, arguments...));
}

static void nap(void *argument)
{
    auto *milliseconds = static_cast<unsigned int *>(argument);
    usleep(1000 * *milliseconds);
    delete milliseconds;
}

static void stream_nap(cudaStream_t stream, unsigned int milliseconds)
{
    OK(cudaLaunchHostFunc(stream, nap, new unsigned int(milliseconds)));
}

/* ---- kernels */

static __global__ void __launch_bounds__(256) indices(int *out)
{
    const unsigned int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const unsigned int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const unsigned int i = block * blockDim.x * blockDim.y * blockDim.z + thread;
    out[i] = static_cast<int>(i);
}

static void case_indices()
{
    const size_t count = 3 * 5 * 2 * 7 * 3 * 4;
    int *out = device_new<int>(count);
    run(dim3(3, 5, 2), dim3(7, 3, 4), nullptr, indices, out);
    const std::vector<int> found = fetched(out, count);
    for (size_t i = 0; i < count; i++)
        MUST(found[i] == static_cast<int>(i));
    OK(cudaFree(out));
}

static __device__ float block_sum(float x)
{
    __shared__ float part[32];
    for (int lanes = 16; lanes > 0; lanes /= 2)
        x += __shfl_xor_sync(0xffffffff, x, lanes);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = x;
    __syncthreads();
    x = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0.0f;
    for (int lanes = 16; lanes > 0; lanes /= 2)
        x += __shfl_xor_sync(0xffffffff, x, lanes);
    __syncthreads(); /* before `part` is written again */
    return x;
}

static __global__ void sums(float *out, unsigned int *arrived, const float *x, int n)
{
    __shared__ bool last;
    float sum = 0.0f;
    for (unsigned int i = threadIdx.x; i < static_cast<unsigned int>(n); i += blockDim.x)
        sum += x[i];
    sum = block_sum(sum);
    sum = block_sum(threadIdx.x == 0 ? sum : 0.0f);
    if (threadIdx.x == 0) {
        out[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(arrived, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        *arrived = 0;
        for (unsigned int i = 0; i < gridDim.x; i++)
            out[gridDim.x] = (i ? out[gridDim.x] : 0.0f) + out[i];
    }
}

static void case_sums()
{
    std::vector<float> x(1000);
    for (size_t i = 0; i < x.size(); i++)
        x[i] = static_cast<float>(i + 1);
    float *in = device_copy(x), *out = device_new<float>(8);
    unsigned int *arrived = device_copy(std::vector<unsigned int>{ 0 });
    for (unsigned int threads : { 32u, 256u, 1024u }) {
        run(7, threads, nullptr, sums, out, arrived, in, 1000);
        const std::vector<float> found = fetched(out, 8);
        for (size_t i = 0; i < 7; i++)
            MUST(found[i] == 500500.0f);
        MUST(found[7] == 7 * 500500.0f && fetched(arrived, 1)[0] == 0);
    }
    OK(cudaFree(in));
    OK(cudaFree(out));
    OK(cudaFree(arrived));
}

/* Each thread reads its neighbour's value; without the barrier the result depends on the order of threads. */
static __global__ void neighbours(int *out, bool waits)
{
    __shared__ int written[64];
    const unsigned int t = threadIdx.x;
    written[t] = static_cast<int>(t) + 1;
    if (waits)
        __syncthreads();
    out[t] = written[min(t + 1, blockDim.x - 1)];
}

static void neighbours_check(bool waits)
{
    int *out = device_new<int>(64);
    run(1, 64, nullptr, neighbours, out, waits);
    const std::vector<int> found = fetched(out, 64);
    OK(cudaFree(out));
    for (int t = 0; t < 64; t++)
        if (found[static_cast<size_t>(t)] != std::min(t + 1, 63) + 1)
            _exit(WRONG_RESULT);
}

static void case_barrier()
{
    neighbours_check(true);
}

static void case_barrier_missing()
{
    neighbours_check(false);
}

/* Compute 8 results per lane with functions of the warp. */
static __global__ void warp_functions(float *out)
{
    const unsigned int all = 0xffffffff, lane = threadIdx.x % 32;
    const float x = static_cast<float>(lane);
    float *mine = out + threadIdx.x * 8;
    mine[0] = __shfl_sync(all, x, 5);
    mine[1] = __shfl_sync(all, x, 5, 8);
    mine[2] = __shfl_xor_sync(all, x, 3);
    mine[3] = static_cast<float>(__popc(__ballot_sync(all, lane < 11)));
    mine[4] = static_cast<float>(__shfl_xor_sync(all, static_cast<double>(x) + 0.5, 1));
    mine[5] = lane < 8 ? __shfl_sync(0xff, x, 7) : __shfl_sync(0xffffff00, x, 9); /* parts of a warp */
    mine[6] = lane < 8 ? __shfl_sync(0xff, x, 20) : 0.0f;                         /* of a lane that takes no part */
    __syncwarp();
    mine[7] = static_cast<float>(__shfl_sync(all, threadIdx.x, 31));
}

static void case_warp()
{
    float *out = device_new<float>(64 * 8);
    run(1, 64, nullptr, warp_functions, out);
    const std::vector<float> found = fetched(out, 64 * 8);
    for (size_t t = 0; t < 64; t++) {
        const int lane = static_cast<int>(t % 32);
        const float *r = &found[t * 8];
        const auto is = [r](int i, int value) { return r[i] == static_cast<float>(value); };
        MUST(is(0, 5) && is(1, lane / 8 * 8 + 5) && is(2, lane ^ 3));
        MUST(is(3, 11) && r[4] == static_cast<float>(lane ^ 1) + 0.5f && is(5, lane < 8 ? 7 : 9));
        MUST(lane < 8 ? std::isnan(r[6]) : r[6] == 0.0f);
        MUST(is(7, static_cast<int>(t / 32 * 32 + 31)));
    }
    OK(cudaFree(out));
}

/* Barriers do not wait for threads that have ended. */
static __global__ void early_ends(int *out)
{
    if (threadIdx.x >= 40)
        return;
    __shared__ int last;
    if (threadIdx.x == 39)
        last = 1500;
    __syncthreads();
    const float lane = __shfl_sync(0xffffffff, static_cast<float>(threadIdx.x), 0);
    out[threadIdx.x] = last + static_cast<int>(lane);
}

static void case_early_ends()
{
    int *out = device_new<int>(40);
    run(3, 128, nullptr, early_ends, out);
    const std::vector<int> found = fetched(out, 40);
    for (size_t t = 0; t < 40; t++)
        MUST(found[t] == 1500 + (t < 32 ? 0 : 32));
    OK(cudaFree(out));
}

static __global__ void different_barriers(int *out)
{
    if (threadIdx.x % 2) {
        __syncthreads();
    } else {
        __syncthreads();
        *out = 1;
    }
}

static __global__ void half_of_a_warp(float *out)
{
    if (threadIdx.x % 32 < 16)
        out[threadIdx.x] = __shfl_sync(0xffffffff, 1.0f, 0);
    else
        __syncthreads();
}

static __global__ void one_too_many(float *out, int n)
{
    out[n] = 1.0f;
}

static void case_different_barriers()
{
    run(1, 64, nullptr, different_barriers, device_new<int>(1));
    cudaDeviceSynchronize();
}

static void case_stuck()
{
    run(2, 64, nullptr, half_of_a_warp, device_new<float>(64));
    cudaDeviceSynchronize();
}

static void case_too_many_threads()
{
    run(1, dim3(33, 32), nullptr, indices, device_new<int>(33 * 32));
}

static void case_overrun()
{
    float *out = device_new<float>(10);
    run(1, 1, nullptr, one_too_many, out, 10);
    cudaDeviceSynchronize();
    cudaFree(out);
}

static void case_freed_too_early()
{
    setenv("LOCKSTEP_CUDA_DELAY_US", "100000", 1);
    float *out = device_new<float>(10);
    run(1, 1, nullptr, one_too_many, out, 0);
    cudaFree(out);
    cudaDeviceSynchronize();
}

/* ---- streams and events */

static void streams_check(bool waits)
{
    const cudaStream_t first = stream_of_mine(), second = stream_of_mine();
    cudaEvent_t written;
    OK(cudaEventCreateWithFlags(&written, cudaEventDisableTiming));
    int *memory = device_copy(std::vector<int>(64, 0)), *copy = device_new<int>(64);
    stream_nap(first, 30);
    run(1, 64, first, neighbours, memory, true);
    OK(cudaEventRecord(written, first));
    if (waits)
        OK(cudaStreamWaitEvent(second, written, 0));
    OK(cudaMemcpyAsync(copy, memory, 64 * sizeof *copy, cudaMemcpyDeviceToDevice, second));
    const int found = fetched(copy, 64)[0];
    OK(cudaFree(memory));
    OK(cudaFree(copy));
    OK(cudaEventDestroy(written));
    OK(cudaStreamDestroy(first));
    OK(cudaStreamDestroy(second));
    if (found != 2)
        _exit(WRONG_RESULT);
}

static void case_wait()
{
    streams_check(true);
}

static void case_wait_missing()
{
    streams_check(false);
}

/* Check that host memory is read only when the stream runs the copy. */
static void case_host_memory_late()
{
    const cudaStream_t stream = stream_of_mine();
    int *host, *memory = device_new<int>(1);
    OK(cudaMallocHost(&host, sizeof *host));
    *host = 1;
    stream_nap(stream, 30);
    OK(cudaMemcpyAsync(memory, host, sizeof *host, cudaMemcpyHostToDevice, stream));
    MUST(cudaStreamQuery(stream) == cudaErrorNotReady);
    *host = 2;
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamQuery(stream));
    MUST(fetched(memory, 1)[0] == 2);
    OK(cudaFreeHost(host));
    OK(cudaFree(memory));
}

static void case_events()
{
    const cudaStream_t stream = stream_of_mine(), other = stream_of_mine();
    cudaEvent_t start, end, plain;
    float ms = 0.0f;
    OK(cudaEventCreate(&start));
    OK(cudaEventCreate(&end));
    OK(cudaEventCreateWithFlags(&plain, cudaEventDisableTiming));
    OK(cudaEventQuery(start)); /* never recorded */
    MUST(cudaEventElapsedTime(&ms, start, end) == cudaErrorInvalidResourceHandle);
    OK(cudaEventRecord(start, stream));
    stream_nap(stream, 20);
    OK(cudaEventRecord(end, stream));
    OK(cudaEventRecord(plain, stream));
    MUST(cudaEventQuery(end) == cudaErrorNotReady && cudaEventElapsedTime(&ms, start, end) == cudaErrorNotReady);
    OK(cudaStreamWaitEvent(other, end, 0)); /* waits for this record, not for later ones */
    OK(cudaStreamSynchronize(stream));
    OK(cudaEventElapsedTime(&ms, start, end));
    MUST(ms >= 20.0f && ms < 2000.0f);
    MUST(cudaEventElapsedTime(&ms, start, plain) == cudaErrorInvalidResourceHandle);
    stream_nap(stream, 200);
    OK(cudaEventRecord(end, stream));
    OK(cudaStreamSynchronize(other));
    MUST(cudaEventQuery(end) == cudaErrorNotReady && cudaGetLastError() == cudaErrorNotReady);
    OK(cudaGetLastError());
    OK(cudaEventDestroy(end)); /* the record outlives the event */
    OK(cudaStreamDestroy(stream));
    MUST(cudaStreamSynchronize(stream) == cudaErrorInvalidResourceHandle);
    OK(cudaEventDestroy(start));
    OK(cudaEventDestroy(plain));
    OK(cudaStreamDestroy(other));
}

static void call_from_host_function(void *result)
{
    *static_cast<cudaError_t *>(result) = cudaDeviceSynchronize();
}

static void case_memory()
{
    float *memory = device_new<float>(12), host[12];
    cudaError_t inside = cudaSuccess;
    for (float x : fetched(memory, 12))
        MUST(std::isnan(x));
    OK(cudaMemset(memory, 0, 12 * sizeof *memory));
    for (int i = 0; i < 12; i++)
        host[i] = static_cast<float>(i);
    OK(cudaMemcpy2DAsync(memory + 1, 4 * sizeof *memory, host, 3 * sizeof *host, 2 * sizeof *host, 3,
                         cudaMemcpyHostToDevice, nullptr));
    const std::vector<float> found = fetched(memory, 12);
    for (size_t i = 0; i < 12; i++) {
        const size_t row = i / 4, column = i % 4;
        MUST(found[i] == (column == 1 || column == 2 ? host[row * 3 + column - 1] : 0.0f));
    }
    MUST(cudaMemcpy(memory, host, 13 * sizeof *host, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    MUST(cudaMemcpy(host, host, sizeof *host, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    MUST(cudaMemcpy(memory, memory, sizeof *host, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
    MUST(cudaMemset(host, 0, sizeof host) == cudaErrorInvalidValue);
    MUST(cudaFree(memory + 1) == cudaErrorInvalidValue);
    size_t before = 0, after = 0, total = 0;
    OK(cudaMemGetInfo(&before, &total));
    OK(cudaFree(memory));
    OK(cudaMemGetInfo(&after, &total));
    MUST(before < after && after <= total && cudaMemGetInfo(nullptr, &total) == cudaErrorInvalidValue);
    MUST(cudaMalloc(&memory, size_t(5) << 30) == cudaErrorMemoryAllocation && !memory);
    OK(cudaLaunchHostFunc(nullptr, call_from_host_function, &inside));
    OK(cudaDeviceSynchronize());
    MUST(inside == cudaErrorNotPermitted);
}

/* ---- devices; settings are in the table of tests below */

static void case_two_devices()
{
    int count, now;
    char address[32];
    cudaDeviceProp properties;
    OK(cudaGetDeviceCount(&count));
    const cudaStream_t stream = stream_of_mine();
    OK(cudaSetDevice(1));
    OK(cudaGetDevice(&now));
    OK(cudaDeviceGetPCIBusId(address, sizeof address, 1));
    OK(cudaGetDeviceProperties(&properties, 1));
    MUST(count == 2 && now == 1 && std::string(address) == "0000:02:00.0");
    MUST(properties.major == 9 && properties.pciBusID == 2 && std::string(properties.name) == "stand-in on the CPU");
    MUST(cudaSetDevice(2) == cudaErrorInvalidDevice);
    cudaLaunchConfig_t config = {};
    config.stream = stream; /* a stream of the other device */
    MUST(cudaLaunchKernelEx(&config, different_barriers, nullptr) == cudaErrorInvalidResourceHandle);
    MUST(std::string(cudaGetErrorString(cudaGetLastError())) == "invalid resource handle");
}

static void without_a_device(cudaError_t why)
{
    int count = 1, version = 1;
    void *memory;
    cudaStream_t stream;
    cublasHandle_t handle;
    ncclComm_t comm;
    ncclUniqueId id;
    MUST(cudaGetDeviceCount(&count) == why && count == 0);
    MUST(cudaMalloc(&memory, 4) == why && cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == why);
    MUST(cudaFree(nullptr) == why && cudaDeviceSynchronize() == why);
    MUST(cudaDriverGetVersion(&version) == cudaSuccess && (version == 0) == (why == cudaErrorInsufficientDriver));
    MUST(cublasCreate(&handle) == CUBLAS_STATUS_NOT_INITIALIZED);
    MUST(ncclGetUniqueId(&id) == ncclSuccess && ncclCommInitRank(&comm, 2, id, 0) == ncclUnhandledCudaError);
    MUST(strstr(ncclGetLastError(nullptr), "Cuda failure"));
}

static void case_no_device()
{
    without_a_device(cudaErrorNoDevice);
}

/* ---- graphs */

static __global__ void __launch_bounds__(32) add_number(int *x, int by)
{
    if (threadIdx.x == 0)
        *x += by;
}

/* A captured operation runs at each launch of its graph, in its order, and never by being captured. */
static void case_graph()
{
    cudaStream_t stream = stream_of_mine();
    int *x = device_copy(std::vector<int>{ 1 });
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    OK(cudaMemsetAsync(x, 0, sizeof *x, stream));
    for (int by = 1; by <= 3; by++)
        run(dim3(1), dim3(32), stream, add_number, x, by);
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphInstantiateWithFlags(&ready, graph, 0));
    OK(cudaGraphDestroy(graph));
    MUST(fetched(x, 1)[0] == 1);
    stream_nap(stream, 20);
    OK(cudaGraphLaunch(ready, stream));
    MUST(cudaStreamQuery(stream) == cudaErrorNotReady);
    run(dim3(1), dim3(32), stream, add_number, x, 10);
    MUST(fetched(x, 1)[0] == 16);
    for (int i = 0; i < 3; i++)
        OK(cudaGraphLaunch(ready, stream));
    OK(cudaGraphExecDestroy(ready)); /* launches outlive it */
    MUST(fetched(x, 1)[0] == 6);
}

/* A capture is lost by what waits or allocates, and its operations never run. */
static void case_lost_capture()
{
    cudaStream_t stream = stream_of_mine();
    int *x = device_copy(std::vector<int>{ 1 });
    cudaEvent_t event;
    cudaGraph_t graph;
    void *memory;
    OK(cudaEventCreate(&event));
    const std::function<cudaError_t()> forbidden[] = {
        [&] { return cudaStreamSynchronize(stream); },  [&] { return cudaStreamQuery(stream); },
        [&] { return cudaDeviceSynchronize(); },        [&] { return cudaMalloc(&memory, 4); },
        [&] { return cudaMallocHost(&memory, 4); },     [&] { return cudaFree(x); },
        [&] { return cudaEventRecord(event, stream); },
    };
    for (const auto &call : forbidden) {
        OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        run(dim3(1), dim3(32), stream, add_number, x, 1);
        MUST(call() == cudaErrorStreamCaptureUnsupported);
        MUST(cudaMemsetAsync(x, 0, sizeof *x, stream) == cudaErrorStreamCaptureInvalidated);
        MUST(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated && !graph);
    }
    OK(cudaEventDestroy(event));
    MUST(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureUnmatched);
    MUST(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeThreadLocal) == cudaErrorStreamCaptureUnsupported);
    MUST(fetched(x, 1)[0] == 1);
}

/* Another thread may allocate and wait beside a capture, but not end it. */
static void case_capture_of_a_thread()
{
    cudaStream_t stream = stream_of_mine(), other = stream_of_mine();
    cudaGraph_t graph;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    cudaError_t allocated = cudaSuccess, waited = cudaSuccess, ended = cudaSuccess;
    std::thread([&] {
        void *memory = nullptr;
        allocated = cudaMalloc(&memory, 4);
        waited = cudaStreamSynchronize(other);
        ended = cudaStreamEndCapture(stream, &graph);
    }).join();
    MUST(allocated == cudaSuccess && waited == cudaSuccess && ended == cudaErrorStreamCaptureWrongThread);
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphDestroy(graph));
}

static void case_no_driver()
{
    without_a_device(cudaErrorInsufficientDriver);
}

/* ---- cuBLAS */

/* A product of matrices of floats. */
static cublasStatus_t multiply(cublasHandle_t handle, bool ta, bool tb, int m, int n, int k, float alpha,
                               const float *a, const float *b, float beta, float *c, int lead)
{
    const cublasOperation_t of_a = ta ? CUBLAS_OP_T : CUBLAS_OP_N, of_b = tb ? CUBLAS_OP_T : CUBLAS_OP_N;
    return cublasGemmEx(handle, of_a, of_b, m, n, k, &alpha, a, CUDA_R_32F, lead, b, CUDA_R_32F, lead, &beta, c,
                        CUDA_R_32F, lead, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

static float element(size_t i)
{
    return static_cast<float>(static_cast<int>(i * 7 % 23) - 11);
}

/* Test all transpositions, with gaps between columns. Whole numbers give the same result in any order of sums. */
static void case_products()
{
    const size_t m = 5, n = 4, k = 3, lead = 7;
    std::vector<float> x(lead * 7), y(lead * 7), z(lead * 7);
    for (size_t i = 0; i < x.size(); i++) {
        x[i] = element(i);
        y[i] = element(i + 5);
        z[i] = element(i + 9);
    }
    cublasHandle_t handle;
    const cudaStream_t stream = stream_of_mine();
    MUST(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS && cublasSetStream(handle, stream) == CUBLAS_STATUS_SUCCESS);
    float *a = device_copy(x), *b = device_copy(y);
    for (int transposed = 0; transposed < 4; transposed++) {
        const bool ta = transposed & 1, tb = transposed & 2;
        float *c = device_copy(z);
        stream_nap(stream, 2);
        MUST(multiply(handle, ta, tb, m, n, k, 2.0f, a, b, -1.0f, c, lead) == CUBLAS_STATUS_SUCCESS);
        const std::vector<float> found = fetched(c, z.size());
        for (size_t i = 0; i < m; i++)
            for (size_t j = 0; j < n; j++) {
                float sum = 0.0f;
                for (size_t l = 0; l < k; l++)
                    sum += x[ta ? l + i * lead : i + l * lead] * y[tb ? j + l * lead : l + j * lead];
                const size_t at = i + j * lead;
                MUST(found[at] == 2.0f * sum - z[at]);
            }
        OK(cudaFree(c));
    }
    MUST(multiply(handle, false, false, 8, n, k, 2.0f, a, b, -1.0f, a, lead) == CUBLAS_STATUS_INVALID_VALUE);
    MUST(cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS);
    OK(cudaFree(a));
    OK(cudaFree(b));
}

static float square(cublasHandle_t handle, const float *x, cublasComputeType_t type)
{
    const float one = 1.0f, zero = 0.0f;
    float *c = device_new<float>(1); /* NaN, which beta = 0 ignores */
    MUST(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, x, CUDA_R_32F, 1, x, CUDA_R_32F, 1, &zero, c,
                      CUDA_R_32F, 1, type, CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS);
    const float found = fetched(c, 1)[0];
    OK(cudaFree(c));
    return found;
}

static void case_rounded_products()
{
    cublasHandle_t handle;
    MUST(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
    float *x = device_copy(std::vector<float>{ 1.0f + 0x1p-7f + 0x1p-10f + 0x1p-12f });
    const float float32 = 1.0f + 0x1p-7f + 0x1p-10f + 0x1p-12f, tf32 = 1.0f + 0x1p-7f + 0x1p-10f, bf16 = 1.0f + 0x1p-7f;
    MUST(square(handle, x, CUBLAS_COMPUTE_32F) == float32 * float32);
    MUST(square(handle, x, CUBLAS_COMPUTE_32F_FAST_TF32) == tf32 * tf32);
    MUST(square(handle, x, CUBLAS_COMPUTE_32F_FAST_16BF) == bf16 * bf16);
    MUST(cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS);
    OK(cudaFree(x));
}

/* ---- NCCL: ranks are processes, each with its own device by default */

static void ranks_run(int ranks, const std::function<void(int, ncclUniqueId)> &body, int killed = -1)
{
    ncclUniqueId id;
    std::vector<pid_t> process(static_cast<size_t>(ranks));
    MUST(ncclGetUniqueId(&id) == ncclSuccess);
    for (int rank = 0; rank < ranks; rank++)
        if (pid_t &child = process[static_cast<size_t>(rank)]; (child = fork()) == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL); /* no rank outlives its case */
            body(rank, id);
            exit(0);
        }
    for (int rank = 0; rank < ranks; rank++) {
        int status;
        MUST(waitpid(process[static_cast<size_t>(rank)], &status, 0) > 0);
        MUST(rank == killed ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

static ncclComm_t joined(int ranks, ncclUniqueId id, int rank)
{
    ncclComm_t comm;
    OK(cudaSetDevice(rank));
    MUST(ncclCommInitRank(&comm, ranks, id, rank) == ncclSuccess);
    return comm;
}

/* Sum more than one piece of shared memory, in place and not, several at once. */
static void case_all_reduce()
{
    ranks_run(3, [](int rank, ncclUniqueId id) {
        const size_t counts[] = { 1, 1000, (size_t(5) << 18) + 3 };
        const ncclComm_t comm = joined(3, id, rank);
        const cudaStream_t stream = stream_of_mine();
        for (size_t count : counts) {
            std::vector<float> x(count);
            for (size_t i = 0; i < count; i++)
                x[i] = static_cast<float>(i % 1000) * static_cast<float>(rank + 1);
            float *in = device_copy(x), *out = device_new<float>(count);
            MUST(ncclAllReduce(in, out, count, ncclFloat, ncclSum, comm, stream) == ncclSuccess);
            MUST(ncclAllReduce(in, in, count, ncclFloat, ncclSum, comm, stream) == ncclSuccess);
            const std::vector<float> found = fetched(out, count), in_place = fetched(in, count);
            for (size_t i = 0; i < count; i++)
                MUST(found[i] == 6.0f * static_cast<float>(i % 1000) && in_place[i] == found[i]);
            OK(cudaFree(in));
            OK(cudaFree(out));
        }
        MUST(ncclCommFinalize(comm) == ncclSuccess && ncclCommDestroy(comm) == ncclSuccess);
    });
}

/* Check rounding: 1 + 2^-8 is a tie between two bfloat16 and is rounded to 1, the even one, so the small terms of the second
 * and third rank are lost. */
static void case_bfloat16()
{
    ranks_run(3, [](int rank, ncclUniqueId id) {
        const ncclComm_t comm = joined(3, id, rank);
        const uint16_t one = 0x3f80, small = 0x3b80; /* 1, 2^-8 */
        uint16_t *x = device_copy(std::vector<uint16_t>{ rank ? small : one, rank == 2 ? one : small });
        MUST(ncclAllReduce(x, x, 2, ncclBfloat16, ncclSum, comm, nullptr) == ncclSuccess);
        const std::vector<uint16_t> found = fetched(x, 2);
        MUST(found[0] == one && found[1] == one + 1); /* (1 + e) + e, (e + e) + 1 */
        OK(cudaFree(x));
        MUST(ncclCommDestroy(comm) == ncclSuccess);
    });
}

/* Give element i of what a rank sends: a whole number, exact in bfloat16 as is the sum of three ranks. */
static int term(int rank, size_t i)
{
    return static_cast<int>(i % 17) * (rank + 1) - 8;
}

/* Element types of NCCL: floats, doubles, and bfloat16 as their upper halves. */
template <typename T> struct number;
template <> struct number<float> {
    static constexpr ncclDataType_t type = ncclFloat;
    static float of(int x)
    {
        return static_cast<float>(x);
    }
};
template <> struct number<double> {
    static constexpr ncclDataType_t type = ncclDouble;
    static double of(int x)
    {
        return x;
    }
};
template <> struct number<uint16_t> {
    static constexpr ncclDataType_t type = ncclBfloat16;
    static uint16_t of(int x)
    {
        const float value = static_cast<float>(x);
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        return static_cast<uint16_t>(bits >> 16);
    }
};

/* Return device memory with elements first … first + count - 1 of a rank. */
template <typename T> static T *terms_new(int rank, size_t first, size_t count)
{
    std::vector<T> x(count);
    for (size_t i = 0; i < count; i++)
        x[i] = number<T>::of(term(rank, first + i));
    return device_copy(x);
}

/* True if device memory holds these elements of a rank, or of the sum of three ranks. */
enum { SUM = -1 };
template <typename T> static bool has_terms(const T *memory, int rank, size_t first, size_t count)
{
    const std::vector<T> found = fetched(memory, count);
    for (size_t i = 0; i < count; i++) {
        const int sum = term(0, first + i) + term(1, first + i) + term(2, first + i);
        const T expected = number<T>::of(rank == SUM ? sum : term(rank, first + i));
        if (memcmp(&found[i], &expected, sizeof expected) != 0)
            return false;
    }
    return true;
}

enum { RANKS = 3 };

/* Counts of elements: some are longer than one or several pieces of shared memory, and end within a piece. */
static const size_t counts[] = { 1, 1000, (size_t(1) << 20) / 4, (size_t(5) << 18) + 3 };

/* Run a test on three ranks, for all types and counts. */
template <typename Test> static void collectives_run(Test test)
{
    ranks_run(RANKS, [=](int rank, ncclUniqueId id) {
        const ncclComm_t comm = joined(RANKS, id, rank);
        const cudaStream_t stream = stream_of_mine();
        for (size_t count : counts) {
            test(float(), comm, stream, rank, count);
            test(double(), comm, stream, rank, count);
            test(uint16_t(), comm, stream, rank, count);
        }
        MUST(ncclCommDestroy(comm) == ncclSuccess);
    });
}

static void case_all_gather()
{
    collectives_run([](auto zero, ncclComm_t comm, cudaStream_t stream, int rank, size_t count) {
        using T = decltype(zero);
        const size_t mine = static_cast<size_t>(rank) * count;
        T *in = terms_new<T>(rank, 7, count), *out = device_new<T>(RANKS * count), *both = device_new<T>(RANKS * count);
        OK(cudaMemcpy(both + mine, in, count * sizeof *in, cudaMemcpyDeviceToDevice));
        MUST(ncclAllGather(in, out, count, number<T>::type, comm, stream) == ncclSuccess);
        MUST(ncclAllGather(both + mine, both, count, number<T>::type, comm, stream) == ncclSuccess);
        MUST(has_terms(in, rank, 7, count));
        for (int from = 0; from < RANKS; from++)
            for (const T *all : { out, both })
                MUST(has_terms(all + static_cast<size_t>(from) * count, from, 7, count));
        for (T *memory : { in, out, both })
            OK(cudaFree(memory));
    });
}

static void case_reduce_scatter()
{
    collectives_run([](auto zero, ncclComm_t comm, cudaStream_t stream, int rank, size_t count) {
        using T = decltype(zero);
        const size_t mine = static_cast<size_t>(rank) * count, all = RANKS * count;
        T *in = terms_new<T>(rank, 0, all), *out = device_new<T>(count), *both = terms_new<T>(rank, 0, all);
        MUST(ncclReduceScatter(in, out, count, number<T>::type, ncclSum, comm, stream) == ncclSuccess);
        MUST(ncclReduceScatter(both, both + mine, count, number<T>::type, ncclSum, comm, stream) == ncclSuccess);
        MUST(has_terms(in, rank, 0, all) && has_terms(out, SUM, mine, count) &&
             has_terms(both + mine, SUM, mine, count));
        for (T *memory : { in, out, both })
            OK(cudaFree(memory));
    });
}

/* Broadcast from each rank. Other ranks give no buffer to send. */
static void case_broadcast()
{
    collectives_run([](auto zero, ncclComm_t comm, cudaStream_t stream, int rank, size_t count) {
        using T = decltype(zero);
        for (int root = 0; root < RANKS; root++) {
            T *in = terms_new<T>(rank, 3, count), *out = device_new<T>(count);
            const T *send = rank == root ? in : nullptr;
            MUST(ncclBroadcast(send, out, count, number<T>::type, root, comm, stream) == ncclSuccess);
            MUST(has_terms(in, rank, 3, count) && has_terms(out, root, 3, count));
            MUST(ncclBroadcast(in, in, count, number<T>::type, root, comm, stream) == ncclSuccess);
            MUST(has_terms(in, root, 3, count));
            OK(cudaFree(in));
            OK(cudaFree(out));
        }
    });
}

/* Shift round a ring, twice within one group: messages to a rank arrive in order. */
static void case_ring_shift()
{
    collectives_run([](auto zero, ncclComm_t comm, cudaStream_t stream, int rank, size_t count) {
        using T = decltype(zero);
        const int to = (rank + 1) % RANKS, from = (rank + RANKS - 1) % RANKS;
        T *in = terms_new<T>(rank, 0, 2 * count), *out = device_new<T>(2 * count);
        MUST(ncclGroupStart() == ncclSuccess);
        for (size_t at : { size_t(0), count }) {
            MUST(ncclSend(in + at, count, number<T>::type, to, comm, stream) == ncclSuccess);
            MUST(ncclRecv(out + at, count, number<T>::type, from, comm, stream) == ncclSuccess);
        }
        MUST(ncclGroupEnd() == ncclSuccess);
        MUST(has_terms(out, from, 0, 2 * count));
        OK(cudaFree(in));
        OK(cudaFree(out));
    });
}

/* Ranks 0 and 1 send to each other, with and without a group, while rank 2 waits for them in an all-reduce. */
static void case_pair()
{
    collectives_run([](auto zero, ncclComm_t comm, cudaStream_t stream, int rank, size_t count) {
        using T = decltype(zero);
        const int peer = 1 - rank;
        T *in = terms_new<T>(rank, 0, count), *out = device_new<T>(count), *back = device_new<T>(count);
        if (rank < 2) {
            MUST(ncclGroupStart() == ncclSuccess);
            MUST(ncclRecv(out, count, number<T>::type, peer, comm, stream) == ncclSuccess);
            MUST(ncclSend(in, count, number<T>::type, peer, comm, stream) == ncclSuccess);
            MUST(ncclGroupEnd() == ncclSuccess);
            if (rank == 0)
                MUST(ncclSend(out, count, number<T>::type, peer, comm, stream) == ncclSuccess);
            else
                MUST(ncclRecv(back, count, number<T>::type, peer, comm, stream) == ncclSuccess);
            MUST(has_terms(out, peer, 0, count) && (rank == 0 || has_terms(back, 1, 0, count)));
        }
        MUST(ncclAllReduce(in, out, count, number<T>::type, ncclSum, comm, stream) == ncclSuccess);
        MUST(has_terms(out, SUM, 0, count));
        for (T *memory : { in, out, back })
            OK(cudaFree(memory));
    });
}

/* Send before receiving, without a group: both ranks wait, even with a short message. */
static void case_group_missing()
{
    ranks_run(2, [](int rank, ncclUniqueId id) {
        const ncclComm_t comm = joined(2, id, rank);
        const cudaStream_t stream = stream_of_mine();
        float *x = device_copy(std::vector<float>{ 1.0f, 2.0f });
        MUST(ncclSend(x, 1, ncclFloat, 1 - rank, comm, stream) == ncclSuccess);
        MUST(ncclRecv(x + 1, 1, ncclFloat, 1 - rank, comm, stream) == ncclSuccess);
        usleep(100000);
        MUST(cudaStreamQuery(stream) == cudaErrorNotReady);
        MUST(ncclCommAbort(comm) == ncclSuccess);
        OK(cudaStreamSynchronize(stream));
        OK(cudaFree(x));
    });
}

/* A group with an operation that fails does nothing; the next group works. */
static void case_failed_group()
{
    ranks_run(1, [](int rank, ncclUniqueId id) {
        const ncclComm_t comm = joined(1, id, rank);
        float *x = device_copy(std::vector<float>{ 1.0f, 2.0f }), on_the_host = 0;
        for (bool fails : { true, false }) {
            MUST(ncclGroupStart() == ncclSuccess);
            MUST(ncclSend(x, 1, ncclFloat, 0, comm, nullptr) == ncclSuccess); /* to itself */
            MUST(ncclRecv(x + 1, 1, ncclFloat, 0, comm, nullptr) == ncclSuccess);
            MUST(!fails || ncclRecv(&on_the_host, 1, ncclFloat, 0, comm, nullptr) == ncclInvalidArgument);
            MUST(!fails || ncclSend(x, 1, ncclFloat, -1, comm, nullptr) == ncclInvalidArgument);
            MUST(!fails || ncclBroadcast(x, x, 1, ncclFloat, 1, comm, nullptr) == ncclInvalidArgument);
            MUST(!fails || ncclReduceScatter(x, x, 1, ncclFloat, ncclMax, comm, nullptr) == ncclInvalidArgument);
            MUST(!fails || ncclAllReduce(nullptr, x, 1, ncclFloat, ncclSum, comm, nullptr) == ncclInvalidArgument);
            MUST(!fails || ncclAllGather(x, x + 2, 1, ncclFloat, comm, nullptr) == ncclInvalidArgument);
            MUST(ncclGroupEnd() == (fails ? ncclInvalidArgument : ncclSuccess));
            MUST(fetched(x, 2)[1] == (fails ? 2.0f : 1.0f));
        }
        OK(cudaFree(x));
        MUST(ncclCommDestroy(comm) == ncclSuccess);
    });
}

/* Two nonblocking communicators, of all ranks in both orders, with operations of both in one group. */
static void case_two_communicators()
{
    ncclUniqueId reverse_id;
    MUST(ncclGetUniqueId(&reverse_id) == ncclSuccess);
    ranks_run(RANKS, [=](int rank, ncclUniqueId id) {
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 0;
        ncclComm_t comm[2];
        ncclResult_t state;
        OK(cudaSetDevice(rank));
        const auto settle = [&](ncclComm_t one) {
            do
                MUST(ncclCommGetAsyncError(one, &state) == ncclSuccess);
            while (state == ncclInProgress);
            MUST(state == ncclSuccess);
        };
        for (int i = 0; i < 2; i++) {
            const int place = i ? RANKS - 1 - rank : rank;
            MUST(ncclCommInitRankConfig(&comm[i], RANKS, i ? reverse_id : id, place, &config) == ncclInProgress);
            settle(comm[i]);
        }
        const cudaStream_t stream[] = { stream_of_mine(), stream_of_mine() };
        const size_t count = 300000;
        float *in = terms_new<float>(rank, 0, count), *next = device_new<float>(count),
              *all = device_new<float>(RANKS * count);
        const int to = (rank + 1) % RANKS, from = (rank + RANKS - 1) % RANKS;
        MUST(ncclGroupStart() == ncclSuccess);
        MUST(ncclSend(in, count, ncclFloat, to, comm[0], stream[0]) == ncclSuccess);
        MUST(ncclAllGather(in, all, count, ncclFloat, comm[1], stream[1]) == ncclSuccess);
        MUST(ncclRecv(next, count, ncclFloat, from, comm[0], stream[0]) == ncclSuccess);
        MUST(ncclGroupEnd() == ncclInProgress);
        for (ncclComm_t one : comm)
            settle(one);
        MUST(has_terms(next, from, 0, count));
        for (int i = 0; i < RANKS; i++)
            MUST(has_terms(all + static_cast<size_t>(i) * count, RANKS - 1 - i, 0, count));
        for (ncclComm_t one : comm)
            MUST(ncclCommDestroy(one) == ncclSuccess);
        for (float *memory : { in, next, all })
            OK(cudaFree(memory));
    });
}

/* Rank 1 calls something else than rank 0, which ends rank 0. */
static void mismatch(const std::function<void(int, float *, ncclComm_t)> &call)
{
    ncclUniqueId id;
    MUST(ncclGetUniqueId(&id) == ncclSuccess);
    const int rank = fork() ? 0 : 1;
    if (rank == 1)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    const ncclComm_t comm = joined(2, id, rank);
    call(rank, device_new<float>(8), comm);
    OK(cudaDeviceSynchronize());
}

static void case_mismatched_kinds()
{
    mismatch([](int rank, float *x, ncclComm_t comm) {
        if (rank == 0)
            MUST(ncclAllReduce(x, x, 2, ncclFloat, ncclSum, comm, nullptr) == ncclSuccess);
        else
            MUST(ncclAllGather(x, x + 4, 2, ncclFloat, comm, nullptr) == ncclSuccess);
    });
}

static void case_mismatched_sizes()
{
    mismatch([](int rank, float *x, ncclComm_t comm) {
        MUST(ncclReduceScatter(x, x, rank ? 1 : 2, ncclFloat, ncclSum, comm, nullptr) == ncclSuccess);
    });
}

static void case_mismatched_types()
{
    mismatch([](int rank, float *x, ncclComm_t comm) {
        MUST(ncclAllReduce(x, x, rank ? 2 : 1, rank ? ncclBfloat16 : ncclFloat, ncclSum, comm, nullptr) == ncclSuccess);
    });
}

static void case_mismatched_roots()
{
    mismatch([](int rank, float *x, ncclComm_t comm) {
        MUST(ncclBroadcast(x, x, 2, ncclFloat, rank, comm, nullptr) == ncclSuccess);
    });
}

static void case_mismatched_message()
{
    mismatch([](int rank, float *x, ncclComm_t comm) {
        if (rank == 0)
            MUST(ncclRecv(x, 3, ncclFloat, 1, comm, nullptr) == ncclSuccess);
        else
            MUST(ncclSend(x, 2, ncclFloat, 0, comm, nullptr) == ncclSuccess);
    });
}

/* Use a nonblocking communicator: every function returns ncclInProgress first. */
static void case_not_blocking()
{
    int may_come[2]; /* rank 1 joins after rank 0's early all-reduce was refused */
    char word = 0;
    MUST(pipe(may_come) == 0);
    ranks_run(2, [=](int rank, ncclUniqueId id) mutable {
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 0;
        ncclComm_t comm;
        ncclResult_t state;
        OK(cudaSetDevice(rank));
        if (rank == 1)
            MUST(read(may_come[0], &word, 1) == 1);
        MUST(ncclCommInitRankConfig(&comm, 2, id, rank, &config) == ncclInProgress);
        float *x = device_copy(std::vector<float>{ 1.0f });
        if (rank == 0) {
            MUST(ncclAllReduce(x, x, 1, ncclFloat, ncclSum, comm, nullptr) == ncclInvalidArgument);
            MUST(write(may_come[1], &word, 1) == 1);
        }
        const auto settle = [&] {
            do
                MUST(ncclCommGetAsyncError(comm, &state) == ncclSuccess);
            while (state == ncclInProgress);
            MUST(state == ncclSuccess);
        };
        settle();
        MUST(ncclGroupStart() == ncclSuccess);
        MUST(ncclAllReduce(x, x, 1, ncclFloat, ncclSum, comm, nullptr) == ncclSuccess);
        MUST(ncclAllReduce(x, x, 1, ncclFloat, ncclSum, comm, nullptr) == ncclSuccess);
        MUST(ncclGroupEnd() == ncclInProgress);
        settle();
        MUST(fetched(x, 1)[0] == 4.0f);
        MUST(ncclCommFinalize(comm) == ncclInProgress);
        settle();
        MUST(ncclCommDestroy(comm) == ncclSuccess);
        OK(cudaFree(x));
    });
}

/* Kill rank 1 after init: rank 0 waits until it aborts. */
static void case_killed_peer()
{
    ranks_run(
        2,
        [](int rank, ncclUniqueId id) {
            const ncclComm_t comm = joined(2, id, rank);
            const cudaStream_t stream = stream_of_mine();
            if (rank == 1)
                raise(SIGKILL);
            float *x = device_copy(std::vector<float>{ 1.0f });
            MUST(ncclAllReduce(x, x, 1, ncclFloat, ncclSum, comm, stream) == ncclSuccess);
            usleep(100000);
            MUST(cudaStreamQuery(stream) == cudaErrorNotReady);
            MUST(ncclCommAbort(comm) == ncclSuccess);
            OK(cudaStreamSynchronize(stream));
            OK(cudaFree(x));
        },
        1);
}

/* Wait for a peer that never joins, then abort. */
static void case_absent_peer()
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId id;
    ncclComm_t comm;
    ncclResult_t state;
    config.blocking = 0;
    MUST(ncclGetUniqueId(&id) == ncclSuccess);
    MUST(ncclCommInitRankConfig(&comm, 2, id, 0, &config) == ncclInProgress);
    usleep(50000);
    MUST(ncclCommGetAsyncError(comm, &state) == ncclSuccess && state == ncclInProgress);
    MUST(ncclCommAbort(comm) == ncclSuccess);
}

static void same_device(int rank, ncclUniqueId id, ncclResult_t expected)
{
    ncclComm_t comm;
    MUST(ncclCommInitRank(&comm, 2, id, rank) == expected);
    if (expected == ncclInvalidUsage)
        MUST(strstr(ncclGetLastError(nullptr), "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1000"));
    if (expected == ncclSuccess)
        MUST(ncclCommDestroy(comm) == ncclSuccess);
}

static void case_duplicate_device()
{
    ranks_run(2, [](int rank, ncclUniqueId id) { same_device(rank, id, ncclInvalidUsage); });
    ranks_run(2, [](int rank, ncclUniqueId id) {
        setenv("NCCL_HOSTID", rank ? "one" : "another", 1);
        same_device(rank, id, ncclSuccess);
    });
}

static void case_one_without_a_device()
{
    ranks_run(2, [](int rank, ncclUniqueId id) {
        setenv("LOCKSTEP_CUDA_DEVICES", rank ? "1" : "0", 1);
        same_device(rank, id, rank ? ncclRemoteError : ncclUnhandledCudaError);
    });
}

/* ---- costs */

static __global__ void nothing(float *x, int n)
{
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < static_cast<unsigned int>(n))
        x[i] = 1.0f;
}

static __global__ void many_barriers(int times)
{
    for (int i = 0; i < times; i++)
        __syncthreads();
}

static __global__ void many_shuffles(float *out, int times)
{
    float x = static_cast<float>(threadIdx.x);
    for (int i = 0; i < times; i++)
        x += __shfl_xor_sync(0xffffffff, x, 1);
    out[threadIdx.x] = x;
}

static double seconds(const std::function<void()> &work)
{
    timespec start, end;
    OK(cudaDeviceSynchronize());
    clock_gettime(CLOCK_MONOTONIC, &start);
    work();
    OK(cudaDeviceSynchronize());
    clock_gettime(CLOCK_MONOTONIC, &end);
    return static_cast<double>(end.tv_sec - start.tv_sec) + 1e-9 * static_cast<double>(end.tv_nsec - start.tv_nsec);
}

static void cost_print()
{
    float *x = device_new<float>(1024);
    run(1, 1024, nullptr, many_barriers, 1); /* touch the stacks */
    printf("block   ns a thread   and barrier   and shuffle\n");
    for (unsigned int threads : { 32u, 256u, 1024u }) {
        const unsigned int blocks = 4000000 / threads;
        const int times = static_cast<int>(1000000 / threads);
        const double plain = seconds([=] { run(blocks, threads, nullptr, nothing, x, 1024); });
        const double barriers = seconds([=] { run(1, threads, nullptr, many_barriers, times); });
        const double shuffles = seconds([=] { run(1, threads, nullptr, many_shuffles, x, times); });
        printf("%5u %13.1f %13.1f %13.1f\n", threads, 1e9 * plain / blocks / threads, 1e9 * barriers / times / threads,
               1e9 * shuffles / times / threads);
    }
    printf("a launch: %.1f us\n", 1e6 * seconds([=] {
                                      for (int i = 0; i < 1000; i++)
                                          run(1, 32, nullptr, nothing, x, 32);
                                  }) / 1000);
    OK(cudaFree(x));
}

/* ---- all cases */

enum ending { PASSES, GOES_WRONG, DIES };

struct test {
    const char *name;
    void (*run)();
    const char *order, *devices;
    enum ending ending;
    const char *says; /* a part of standard error */
};

static const struct test tests[] = {
    { "indices", case_indices, "0", "1", PASSES, "" },
    { "indices", case_indices, "5", "1", PASSES, "" },
    { "sums", case_sums, "0", "1", PASSES, "" },
    { "sums", case_sums, "1", "1", PASSES, "" },
    { "sums", case_sums, "7", "1", PASSES, "" },
    { "barrier", case_barrier, "0", "1", PASSES, "" },
    { "barrier", case_barrier, "1", "1", PASSES, "" },
    { "barrier", case_barrier, "9", "1", PASSES, "" },
    { "barrier missing", case_barrier_missing, "0", "1", GOES_WRONG, "" },
    { "barrier missing", case_barrier_missing, "1", "1", PASSES, "" }, /* this is why there are several orders */
    { "barrier missing", case_barrier_missing, "9", "1", GOES_WRONG, "" },
    { "warp", case_warp, "0", "1", PASSES, "" },
    { "warp", case_warp, "1", "1", PASSES, "" },
    { "warp", case_warp, "3", "1", PASSES, "" },
    { "early ends", case_early_ends, "0", "1", PASSES, "" },
    { "early ends", case_early_ends, "1", "1", PASSES, "" },
    { "different barriers", case_different_barriers, "0", "1", DIES, "block (64,1,1): threads of a block are at" },
    { "stuck", case_stuck, "0", "1", DIES, "32 of 64 threads wait at the __syncthreads of" },
    { "stuck", case_stuck, "1", "1", DIES, "in warp 0 lanes 0000ffff wait for lanes ffff0000 at" },
    { "too many threads", case_too_many_threads, "0", "1", DIES, "more than 1024 threads a block" },
#if defined(__SANITIZE_ADDRESS__)
    { "overrun", case_overrun, "0", "1", DIES, "use-after-poison" },
#else
    { "overrun", case_overrun, "0", "1", DIES, "written 0 bytes behind the end of the 40 bytes" },
#endif
    { "freed too early", case_freed_too_early, "0", "1", DIES, "" },
    { "wait", case_wait, "0", "1", PASSES, "" },
    { "wait missing", case_wait_missing, "0", "1", GOES_WRONG, "" },
    { "host memory late", case_host_memory_late, "0", "1", PASSES, "" },
    { "events", case_events, "0", "1", PASSES, "" },
    { "memory", case_memory, "0", "1", PASSES, "" },
    { "two devices", case_two_devices, "0", "2", PASSES, "" },
    { "no device", case_no_device, "0", "0", PASSES, "" },
    { "graph", case_graph, "0", "1", PASSES, "" },
    { "lost capture", case_lost_capture, "0", "1", PASSES, "" },
    { "capture of a thread", case_capture_of_a_thread, "0", "1", PASSES, "" },
    { "no driver", case_no_driver, "0", "-1", PASSES, "" },
    { "products", case_products, "0", "1", PASSES, "" },
    { "rounded products", case_rounded_products, "0", "1", PASSES, "" },
    { "all-reduce", case_all_reduce, "0", "3", PASSES, "" },
    { "all-gather", case_all_gather, "0", "3", PASSES, "" },
    { "reduce-scatter", case_reduce_scatter, "0", "3", PASSES, "" },
    { "broadcast", case_broadcast, "0", "3", PASSES, "" },
    { "ring shift", case_ring_shift, "0", "3", PASSES, "" },
    { "pair", case_pair, "0", "3", PASSES, "" },
    { "group missing", case_group_missing, "0", "2", PASSES, "" },
    { "failed group", case_failed_group, "0", "1", PASSES, "" },
    { "two communicators", case_two_communicators, "0", "3", PASSES, "" },
    { "mismatched kinds", case_mismatched_kinds, "0", "2", DIES, "all-reduce of 8 bytes" },
    { "mismatched sizes", case_mismatched_sizes, "0", "2", DIES, "reduce-scatter of 16 bytes" },
    { "mismatched types", case_mismatched_types, "0", "2", DIES, "of 4 bytes, type 9" },
    { "mismatched roots", case_mismatched_roots, "0", "2", DIES, "broadcast of 8 bytes, type 7, root 1" },
    { "mismatched message", case_mismatched_message, "0", "2", DIES, "message of 12 bytes" },
    { "bfloat16", case_bfloat16, "0", "3", PASSES, "" },
    { "not blocking", case_not_blocking, "0", "2", PASSES, "" },
    { "killed peer", case_killed_peer, "0", "2", PASSES, "" },
    { "absent peer", case_absent_peer, "0", "1", PASSES, "" },
    { "duplicate device", case_duplicate_device, "0", "1", PASSES, "" },
    { "one without a device", case_one_without_a_device, "0", "1", PASSES, "" },
};

/* Run a test in its own process, for at most a minute. Return its status, and its standard error in `said`. */
static int test_run(const struct test &t, std::string *said)
{
    int pipe_ends[2], status;
    MUST(pipe(pipe_ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
        setenv("LOCKSTEP_CUDA_ORDER", t.order, 1);
        setenv("LOCKSTEP_CUDA_DEVICES", t.devices, 1);
        unsetenv("CUDA_VISIBLE_DEVICES");
        unsetenv("NCCL_HOSTID");
        dup2(pipe_ends[1], STDERR_FILENO);
        close(pipe_ends[0]);
        close(pipe_ends[1]);
        if (t.ending == DIES) /* the sanitizer's report is expected, not a finding */
            for (const char *options : { "ASAN_OPTIONS", "TSAN_OPTIONS" })
                setenv(options, (std::string(getenv(options) ? getenv(options) : "") + ":log_path=stderr").c_str(), 1);
        alarm(60);
        execl("/proc/self/exe", "test_stand_in", t.name, nullptr);
        _exit(127);
    }
    close(pipe_ends[1]);
    char text[512];
    for (ssize_t n; (n = read(pipe_ends[0], text, sizeof text)) > 0;)
        said->append(text, static_cast<size_t>(n));
    close(pipe_ends[0]);
    MUST(waitpid(child, &status, 0) == child);
    return status;
}

static bool test_passes(const struct test &t)
{
    std::string said;
    const int status = test_run(t, &said);
    const bool exited = WIFEXITED(status), timed_out = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    bool ok = !timed_out;
    if (t.ending == PASSES)
        ok = exited && WEXITSTATUS(status) == 0;
    else if (t.ending == GOES_WRONG)
        ok = exited && WEXITSTATUS(status) == WRONG_RESULT;
    else
        ok = ok && status != 0 && said.find(t.says) != std::string::npos;
    printf("%s  %s, order %s, %s devices\n", ok ? "ok    " : "not ok", t.name, t.order, t.devices);
    if (!ok)
        printf("        status %x: %s\n", static_cast<unsigned int>(status), said.c_str());
    return ok;
}

int main(int argc, char **argv)
{
    if (argc > 1 && std::string(argv[1]) == "--cost") {
        cost_print();
        return 0;
    }
    if (argc > 1) {
        for (const struct test &t : tests)
            if (std::string(argv[1]) == t.name) {
                t.run();
                return 0;
            }
        return 2;
    }
    int failed = 0;
    setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
    for (const struct test &t : tests)
        failed += !test_passes(t);
    printf("%zu cases, %d failed\n", sizeof tests / sizeof *tests, failed);
    return failed != 0;
}
