/* device.h on a GPU: which it is, its streams and its clock, and its memory. */
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

/* One GPU per process: a rank's. */
static struct {
    int index;
    struct cudaDeviceProp is;
    char about[512], kernel[384];
    cudaStream_t work, copies; /* the rank's operations; what comes from the host beside them */

    cudaEvent_t *note; /* (note_room), of which `notes` are taken since the last device_clock_sync_begin() */
    size_t notes, note_room;
    struct anchor { /* an event that happened at `time` on the world's clock, give or take `error` */
        cudaEvent_t event;
        double time, error;
    } begin, end;
    cudaEvent_t candidate;
    double rate; /* seconds of the world's clock in one of the GPU's */

    void *sample; /* of the host, where samples arrive */
    size_t sample_bytes;

    void (*watch)(void *argument);
    void *watch_argument;
} gpu;

/* --- what it is -------------------------------------------------------------------------------------------------- */

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
        die(STATUS_CANNOT, "%s has compute capability %d.%d, and %s needs 8.0; choose fp32", gpu.is.name, gpu.is.major,
            gpu.is.minor, precision_name(precision));
}

/* The driver's own version, "580.95.05", which CUDA does not tell: the word after two blanks in the first line of what the
 * kernel shows. Blank where it shows nothing. */
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

/* CUDA writes version 13.1 as 13010, cuBLAS as 130100 and its patch. */
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

/* Asks again and again, for the end of the work is to be seen when it comes; what is not done soon it leaves the core to others
 * for between questions: several ranks may share it. */
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
    cuda_must(error, "what was handed over before");
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
        die(STATUS_WRONG, "no memory for %zu moments", moments);
    for (; gpu.note_room < moments; gpu.note_room++)
        cuda_must(cudaEventCreate(&gpu.note[gpu.note_room]), "cudaEventCreate");
}

/* A note is 1 below zero for the first event, and so on. */
double device_record_event(void)
{
    device_reserve_events(gpu.notes + 1);
    cuda_must(cudaEventRecord(gpu.note[gpu.notes], gpu.work), "cudaEventRecord");
    return -(double)++gpu.notes;
}

/* CUDA tells times between events as a float, in milliseconds. Its steps are 0.06 us a second after the first, 4 us a minute
 * after it, 0.25 ms an hour. */
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
        die(STATUS_WRONG, "moment %zu of the GPU's was forgotten; it has %zu", note, gpu.notes);
    return gpu.begin.time + gpu.rate * elapsed(gpu.begin.event, gpu.note[note]);
}

/* An event on an idle GPU happens between the host's clock before and after it; of some tries the narrowest is kept. */
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

/* Clocks of two crystals part by millionths; between two anchors the error is no larger than theirs. */
void device_clock_sync_end(void)
{
    device_wait();
    set_anchor(&gpu.end);
    double between = elapsed(gpu.begin.event, gpu.end.event);
    gpu.rate = (gpu.end.time - gpu.begin.time) / between;
    gpu.end.error += between * (double)FLT_EPSILON; /* of a float that tells so much */
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

/* The zeros are there when it returns: what the host puts there next does not wait for work. */
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

/* Work that was handed over may still use what is freed, and of cudaFree() NVIDIA says only that it may wait for that. */
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

/* Pages that stay where they are: the GPU reads and writes them itself. */
void *device_stage_new(size_t bytes)
{
    void *stage = NULL;
    if (bytes > 0)
        memory_must(cudaMallocHost(&stage, bytes), bytes, "memory of the host that stays in place");
    return stage;
}

void device_stage_free(void *stage)
{
    if (!stage)
        return;
    device_wait();
    cuda_must(cudaFreeHost(stage), "cudaFreeHost");
}

/* Any thread may call; each has its own idea of which GPU is meant. The copy overtakes work that was handed over before:
 * whoever calls knows that none of it still uses `out`. */
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

/* Waits twice, as copies to memory that device_stage_new() did not make wait on their own, with nobody watching. */
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
