/* Implement device.h on a GPU: selection, streams, clock and memory. */
#include "device/device_cuda.h"
#include "base/die.h"
#include "base/memory.h"
#include "device/device.h"
#include "world/world.h"

#include <float.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* GPU of this rank; one per process. */
static struct {
    int index;
    struct cudaDeviceProp is;
    char about[512], kernel[384];
    cudaStream_t work, copies; /* the rank's operations; concurrent copies from the host */

    cudaEvent_t *note; /* (note_room) events, `notes` of them recorded since the last device_clock_sync_begin() */
    size_t notes, note_room;
    struct anchor { /* event at `time` on the world's clock, +- `error` */
        cudaEvent_t event;
        double time, error;
    } begin, end;
    cudaEvent_t candidate;
    double rate; /* seconds of the world's clock per second of the GPU's */

    void *sample; /* host memory that samples are copied to */
    size_t sample_bytes;

    void (*watch)(void *argument);
    void *watch_argument;
} gpu;

/* --- selection and identity -------------------------------------------------------------------------------------- */

void cuda_die(const char *what, const char *why)
{
    die(STATUS_WRONG, "GPU %d (%s): %s: %s", gpu.index, gpu.is.name, what, why);
}

void cuda_must(cudaError_t error, const char *what)
{
    if (error != cudaSuccess)
        cuda_die(what, cudaGetErrorString(error));
}

int device_gpus(void)
{
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

static void choose_gpu(int place)
{
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count < 1)
        die(STATUS_CANNOT, "built with CUDA, no usable device (%s)",
            cudaGetErrorString(error != cudaSuccess ? error : cudaErrorNoDevice));
    gpu.index = place % count;
    cuda_must(cudaSetDevice(gpu.index), "cudaSetDevice");
    cuda_must(cudaGetDeviceProperties(&gpu.is, gpu.index), "cudaGetDeviceProperties");
}

static void refuse_precision(enum precision precision)
{
    if (precision != PRECISION_FP32 && gpu.is.major < 8)
        die(STATUS_CANNOT, "%s has compute capability %d.%d, but %s needs 8.0; choose fp32", gpu.is.name, gpu.is.major,
            gpu.is.minor, precision_name(precision));
}

/* Find the driver's own version, "580.95.05", which CUDA does not report: the word after two blanks in the first line
 * of the kernel's version file. Empty if that shows nothing. */
static void find_driver(char *version, size_t size)
{
    char line[256] = "";
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    if (file && !fgets(line, sizeof line, file))
        line[0] = '\0';
    if (file)
        fclose(file);
    const char *word = strstr(line, "  ");
    snprintf(version, size, "%.*s", word ? (int)strcspn(word + 2, " \n") : 0, word ? word + 2 : "");
}

/* Describe the GPU and its libraries. CUDA encodes version 13.1 as 13010; cuBLAS as 130100 plus its patch number. */
static void describe(enum precision precision)
{
    int driver = 0, runtime = 0, blas = cuda_work_version();
    cuda_must(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    cuda_must(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    snprintf(gpu.kernel, sizeof gpu.kernel, "cuBLAS %d.%d on %s, %s", blas / 10000, blas / 100 % 100, gpu.is.name,
             precision_name(precision));
    char own[64];
    find_driver(own, sizeof own);
    snprintf(gpu.about, sizeof gpu.about,
             "%s, compute capability %d.%d, driver %s%sfor CUDA %d.%d, CUDA %d.%d, cuBLAS %d.%d", gpu.is.name,
             gpu.is.major, gpu.is.minor, own, *own ? " " : "", driver / 1000, driver % 1000 / 10, runtime / 1000,
             runtime % 1000 / 10, blas / 10000, blas / 100 % 100);
}

void device_open(int place, enum precision precision)
{
    choose_gpu(place);
    refuse_precision(precision);
    cuda_must(cudaStreamCreateWithFlags(&gpu.work, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    cuda_must(cudaStreamCreateWithFlags(&gpu.copies, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    cuda_must(cudaEventCreate(&gpu.begin.event), "cudaEventCreate");
    cuda_must(cudaEventCreate(&gpu.end.event), "cudaEventCreate");
    cuda_must(cudaEventCreate(&gpu.candidate), "cudaEventCreate");
    cuda_work_open(precision);
    describe(precision);
    device_clock_sync_begin();
}

void device_close(void)
{
    device_wait();
    cuda_work_close();
    for (size_t i = 0; i < gpu.note_room; i++)
        cuda_must(cudaEventDestroy(gpu.note[i]), "cudaEventDestroy");
    free(gpu.note);
    cuda_must(cudaEventDestroy(gpu.begin.event), "cudaEventDestroy");
    cuda_must(cudaEventDestroy(gpu.end.event), "cudaEventDestroy");
    cuda_must(cudaEventDestroy(gpu.candidate), "cudaEventDestroy");
    device_stage_free(gpu.sample);
    cuda_must(cudaStreamDestroy(gpu.work), "cudaStreamDestroy");
    cuda_must(cudaStreamDestroy(gpu.copies), "cudaStreamDestroy");
    memset(&gpu, 0, sizeof gpu);
}

const char *device_name(void)
{
    return "cuda";
}

const char *device_kernel(void)
{
    return gpu.kernel;
}

const char *device_about(void)
{
    return gpu.about;
}

cudaStream_t cuda_stream(void)
{
    return gpu.work;
}

/* --- time -------------------------------------------------------------------------------------------------------- */

void cuda_watch(void (*watch)(void *argument), void *argument)
{
    gpu.watch = watch;
    gpu.watch_argument = argument;
}

/* Poll, so that the end of the work is seen at once. After `patience`, yield the core between polls: several ranks may
 * share it. */
void cuda_wait(cudaStream_t stream)
{
    const double patience = 50e-6, watch_every = 1e-3;
    double began = world_now(), watched = began;
    cudaError_t error;
    while ((error = cudaStreamQuery(stream)) == cudaErrorNotReady) {
        double now = world_now();
        if (now - began > patience)
            sched_yield();
        if (gpu.watch && now - watched > watch_every) {
            gpu.watch(gpu.watch_argument);
            watched = now;
        }
    }
    cuda_must(error, "work queued earlier");
}

void device_wait(void)
{
    cuda_wait(gpu.work);
}

void device_reserve_events(size_t moments)
{
    if (moments <= gpu.note_room)
        return;
    gpu.note = realloc(gpu.note, moments * sizeof *gpu.note);
    if (!gpu.note)
        die(STATUS_WRONG, "no memory for %zu events", moments);
    for (; gpu.note_room < moments; gpu.note_room++)
        cuda_must(cudaEventCreate(&gpu.note[gpu.note_room]), "cudaEventCreate");
}

/* Return -1 for the first event, -2 for the second, and so on. */
double device_record_event(void)
{
    device_reserve_events(gpu.notes + 1);
    cuda_must(cudaEventRecord(gpu.note[gpu.notes], gpu.work), "cudaEventRecord");
    return -(double)++gpu.notes;
}

/* Return the seconds between two events. CUDA gives them as a float, in milliseconds: its resolution is 0.06 us one
 * second after the first event, 4 us after a minute, 0.25 ms after an hour. */
static double elapsed(cudaEvent_t from, cudaEvent_t to)
{
    float milliseconds = 0;
    cuda_must(cudaEventElapsedTime(&milliseconds, from, to), "cudaEventElapsedTime");
    return milliseconds * 1e-3;
}

double device_event_seconds(double moment)
{
    if (moment >= 0)
        return moment;
    size_t note = (size_t)-moment - 1;
    if (note >= gpu.notes)
        die(STATUS_WRONG, "event %zu of the GPU was discarded; the GPU has %zu", note, gpu.notes);
    return gpu.begin.time + gpu.rate * elapsed(gpu.begin.event, gpu.note[note]);
}

/* Set an anchor: an event on an idle GPU happens between two readings of the host's clock. Keep the narrowest of
 * several tries. */
static void set_anchor(struct anchor *anchor)
{
    enum { TRIES = 16 };
    anchor->error = INFINITY;
    for (int i = 0; i < TRIES; i++) {
        double before = world_now();
        cuda_must(cudaEventRecord(gpu.candidate, gpu.work), "cudaEventRecord");
        device_wait();
        double after = world_now();
        if ((after - before) / 2 >= anchor->error)
            continue;
        cudaEvent_t best = gpu.candidate;
        gpu.candidate = anchor->event;
        *anchor = (struct anchor){ .event = best, .time = (before + after) / 2, .error = (after - before) / 2 };
    }
}

void device_clock_sync_begin(void)
{
    device_wait();
    gpu.notes = 0;
    gpu.rate = 1;
    set_anchor(&gpu.begin);
    gpu.end.error = 0;
}

/* Correct for drift: clocks of two crystals differ by millionths. Between two anchors the error is at most that of the
 * anchors. */
void device_clock_sync_end(void)
{
    device_wait();
    set_anchor(&gpu.end);
    double between = elapsed(gpu.begin.event, gpu.end.event);
    gpu.rate = (gpu.end.time - gpu.begin.time) / between;
    gpu.end.error += between * (double)FLT_EPSILON; /* rounding of the float that holds `between` */
}

double device_clock_error(void)
{
    return fmax(gpu.begin.error, gpu.end.error);
}

/* --- memory ------------------------------------------------------------------------------------------------------ */

static void memory_must(cudaError_t error, size_t bytes, const char *of)
{
    if (error == cudaErrorMemoryAllocation)
        die(STATUS_WRONG, "GPU %d (%s): no %s for %zu bytes; choose smaller sizes or fewer ranks", gpu.index,
            gpu.is.name, of, bytes);
    cuda_must(error, of);
}

void *device_map(size_t bytes)
{
    void *memory = NULL;
    if (bytes > 0)
        memory_must(cudaMalloc(&memory, bytes), bytes, "memory");
    return memory;
}

void device_unmap(void *memory, size_t bytes)
{
    (void)bytes;
    device_free(memory);
}

/* Wait for the zeros: later copies from the host do not wait for enqueued work. */
void *device_new(size_t count, size_t size)
{
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes))
        die(STATUS_WRONG, "%zu x %zu bytes is more than memory can address; choose smaller sizes", count, size);
    void *memory = device_map(bytes);
    if (bytes > 0)
        cuda_must(cudaMemsetAsync(memory, 0, bytes, gpu.work), "cudaMemsetAsync");
    device_wait();
    return memory;
}

/* Wait first: enqueued work may still use the memory, and NVIDIA documents only that cudaFree() may wait for it. */
void device_free(void *memory)
{
    if (!memory)
        return;
    device_wait();
    cuda_must(cudaFree(memory), "cudaFree");
}

bool device_is_host_accessible(void)
{
    return false;
}

/* Allocate pinned memory, which the GPU reads and writes directly. */
void *device_stage_new(size_t bytes)
{
    void *stage = NULL;
    if (bytes > 0)
        memory_must(cudaMallocHost(&stage, bytes), bytes, "pinned host memory");
    return stage;
}

void device_stage_free(void *stage)
{
    if (!stage)
        return;
    device_wait();
    cuda_must(cudaFreeHost(stage), "cudaFreeHost");
}

/* Copy ahead of work enqueued before: the caller must ensure that none of it still uses `out`. Any thread may call;
 * each has its own current GPU. */
void device_put(void *out, const void *host, size_t bytes)
{
    cuda_must(cudaSetDevice(gpu.index), "cudaSetDevice");
    cuda_must(cudaMemcpyAsync(out, host, bytes, cudaMemcpyHostToDevice, gpu.copies), "copy to the GPU");
    cuda_must(cudaStreamSynchronize(gpu.copies), "copy to the GPU");
}

void device_put_later(void *out, const void *host, size_t bytes)
{
    cuda_must(cudaMemcpyAsync(out, host, bytes, cudaMemcpyHostToDevice, gpu.work), "copy to the GPU");
}

/* Wait before and after the copy. A copy to memory not from device_stage_new() blocks inside CUDA, where `watch` is not
 * called. */
void device_fetch(void *host, const void *memory, size_t bytes)
{
    device_wait();
    cuda_must(cudaMemcpyAsync(host, memory, bytes, cudaMemcpyDeviceToHost, gpu.work), "copy from the GPU");
    device_wait();
}

void device_sample(void *host, const void *memory, size_t size, size_t stride, size_t count)
{
    size_t bytes = size * count;
    if (bytes > gpu.sample_bytes) {
        device_stage_free(gpu.sample);
        gpu.sample = device_stage_new(bytes);
        gpu.sample_bytes = bytes;
    }
    device_sample_later(gpu.sample, memory, size, stride, count);
    device_wait();
    if (bytes > 0)
        memcpy(host, gpu.sample, bytes);
}

void device_sample_later(void *stage, const void *memory, size_t size, size_t stride, size_t count)
{
    if (count > 0)
        cuda_must(cudaMemcpy2DAsync(stage, size, memory, size * stride, size, count, cudaMemcpyDeviceToHost, gpu.work),
                  "cudaMemcpy2DAsync");
}

struct device_staging_buffer device_staging_buffer_open(size_t count, size_t size)
{
    struct device_staging_buffer inbox = { device_stage_new(count * size), device_new(count, size), count * size };
    if (inbox.host)
        memset(inbox.host, 0, count * size);
    return inbox;
}

void device_staging_buffer_close(struct device_staging_buffer *inbox)
{
    device_free(inbox->device);
    device_stage_free(inbox->host);
    *inbox = (struct device_staging_buffer){ 0 };
}

void device_deliver(const struct device_staging_buffer *inbox, size_t bytes)
{
    device_put(inbox->device, inbox->host, bytes);
}
