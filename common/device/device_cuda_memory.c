/* Implement the memory of device.h on a GPU, and copies between it and the host. */
#include "base/die.h"
#include "device/device.h"
#include "device/device_cuda.h"

#include <string.h>

/* Stream, event and buffer for copies. A static variable, because the functions of device.h take no device. */
static struct {
    cudaStream_t copies; /* from the host, concurrent to the rank's operations */
    cudaEvent_t reached; /* a point of one stream, for which the other waits */
    void *sample;        /* host memory that samples are copied to */
    size_t sample_bytes;
} staging;

void cuda_memory_open(void)
{
    cuda_must(cudaStreamCreateWithFlags(&staging.copies, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    cuda_must(cudaEventCreateWithFlags(&staging.reached, cudaEventDisableTiming), "cudaEventCreateWithFlags");
}

cudaStream_t cuda_copies(void)
{
    return staging.copies;
}

void cuda_memory_close(void)
{
    device_stage_free(staging.sample);
    cuda_must(cudaEventDestroy(staging.reached), "cudaEventDestroy");
    cuda_must(cudaStreamDestroy(staging.copies), "cudaStreamDestroy");
    memset(&staging, 0, sizeof staging);
}

static void memory_must(cudaError_t error, size_t bytes, const char *of)
{
    if (error == cudaErrorMemoryAllocation)
        die(STATUS_WRONG, "GPU %d (%s): no %s for %zu bytes; choose smaller sizes or fewer ranks", cuda_index(),
            cuda_name(), of, bytes);
    cuda_must(error, of);
}

void *device_map(enum memory_owner owner, size_t bytes)
{
    void *memory = NULL;
    if (bytes == 0)
        return NULL;
    memory_must(cudaMalloc(&memory, bytes), bytes, "memory");
    ledger_add(memory, bytes, owner, MEMORY_GPU);
    return memory;
}

void device_unmap(void *memory, size_t bytes)
{
    (void)bytes;
    device_free(memory);
}

/* Wait for the zeros: later copies from the host do not wait for enqueued work. */
void *device_new(enum memory_owner owner, size_t count, size_t size)
{
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes))
        die(STATUS_WRONG, "%zu x %zu bytes is more than memory can address; choose smaller sizes", count, size);
    void *memory = device_map(owner, bytes);
    if (bytes > 0)
        cuda_must(cudaMemsetAsync(memory, 0, bytes, cuda_stream()), "cudaMemsetAsync");
    device_wait();
    return memory;
}

enum memory_place device_place(void)
{
    return MEMORY_GPU;
}

double device_bytes_taken(void)
{
    size_t available = 0, total = 0;
    cuda_must(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
    return (double)(total - available);
}

/* Wait first: enqueued work may still use the memory, and NVIDIA documents only that cudaFree() may wait for it. */
void device_free(void *memory)
{
    if (!memory)
        return;
    device_wait();
    ledger_remove(memory);
    cuda_must(cudaFree(memory), "cudaFree");
}

bool device_is_host_accessible(void)
{
    return false;
}

/* Allocate pinned memory, which the GPU reads and writes directly. */
void *device_stage_new(enum memory_owner owner, size_t bytes)
{
    void *stage = NULL;
    if (bytes == 0)
        return NULL;
    memory_must(cudaMallocHost(&stage, bytes), bytes, "pinned host memory");
    ledger_add(stage, bytes, owner, MEMORY_HOST);
    return stage;
}

void device_stage_free(void *stage)
{
    if (!stage)
        return;
    device_wait();
    ledger_remove(stage);
    cuda_must(cudaFreeHost(stage), "cudaFreeHost");
}

/* Copy ahead of work enqueued before: the caller must ensure that none of it still uses `out`. Any thread may call;
 * each has its own current GPU. */
void device_put(void *out, const void *host, size_t bytes)
{
    cuda_must(cudaSetDevice(cuda_index()), "cudaSetDevice");
    cuda_must(cudaMemcpyAsync(out, host, bytes, cudaMemcpyHostToDevice, staging.copies), "copy to the GPU");
    cuda_must(cudaStreamSynchronize(staging.copies), "copy to the GPU");
}

void device_put_later(void *out, const void *host, size_t bytes)
{
    cuda_must(cudaMemcpyAsync(out, host, bytes, cudaMemcpyHostToDevice, cuda_stream()), "copy to the GPU");
}

void device_copy_beside(void *out, const void *host, size_t bytes)
{
    cuda_must(cudaMemcpyAsync(out, host, bytes, cudaMemcpyHostToDevice, staging.copies), "copy to the GPU");
}

/* Let a stream wait for all work queued in another so far. A wait keeps the event as it is now, so that it may be recorded again. */
static void follow(cudaStream_t stream, cudaStream_t other)
{
    cuda_must(cudaEventRecord(staging.reached, other), "cudaEventRecord");
    cuda_must(cudaStreamWaitEvent(stream, staging.reached, 0), "cudaStreamWaitEvent");
}

void device_copies_follow(void)
{
    follow(staging.copies, cuda_stream());
}

void device_operations_follow(void)
{
    follow(cuda_stream(), staging.copies);
}

/* Wait before and after the copy. A copy to memory not from device_stage_new() blocks inside CUDA, where `watch` is not
 * called. */
void device_fetch(void *host, const void *memory, size_t bytes)
{
    device_wait();
    cuda_must(cudaMemcpyAsync(host, memory, bytes, cudaMemcpyDeviceToHost, cuda_stream()), "copy from the GPU");
    device_wait();
}

void device_sample(void *host, const void *memory, size_t size, size_t stride, size_t count)
{
    size_t bytes = size * count;
    if (bytes > staging.sample_bytes) {
        device_stage_free(staging.sample);
        staging.sample = device_stage_new(MEMORY_MEASURING, bytes);
        staging.sample_bytes = bytes;
    }
    device_sample_later(staging.sample, memory, size, stride, count);
    device_wait();
    if (bytes > 0)
        memcpy(host, staging.sample, bytes);
}

void device_sample_later(void *stage, const void *memory, size_t size, size_t stride, size_t count)
{
    if (count > 0)
        cuda_must(
            cudaMemcpy2DAsync(stage, size, memory, size * stride, size, count, cudaMemcpyDeviceToHost, cuda_stream()),
            "cudaMemcpy2DAsync");
}

struct device_staging_buffer device_staging_buffer_open(enum memory_owner owner, size_t count, size_t size)
{
    struct device_staging_buffer buffer = { device_stage_new(owner, count * size), device_new(owner, count, size),
                                            count * size };
    if (buffer.host)
        memset(buffer.host, 0, count * size);
    return buffer;
}

void device_staging_buffer_close(struct device_staging_buffer *buffer)
{
    device_free(buffer->device);
    device_stage_free(buffer->host);
    *buffer = (struct device_staging_buffer){ 0 };
}

void device_deliver(const struct device_staging_buffer *buffer, size_t bytes)
{
    device_put(buffer->device, buffer->host, bytes);
}
