/* Implement device.h on a GPU: choose and describe the GPU, and wait for it. */
#include "device/device_cuda.h"
#include "base/die.h"
#include "device/device.h"
#include "world/world.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

/* GPU of this rank. A static variable, because the functions of device.h take no device: there is one per process. */
static struct {
    int index;
    struct cudaDeviceProp is;
    char about[512], kernel[384];
    cudaStream_t work; /* the rank's operations */
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
    cuda_memory_open();
    cuda_work_open(precision);
    describe(precision);
    cuda_events_open();
}

void device_close(void)
{
    device_wait();
    cuda_events_close();
    cuda_work_close();
    cuda_memory_close();
    cuda_must(cudaStreamDestroy(gpu.work), "cudaStreamDestroy");
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

int cuda_index(void)
{
    return gpu.index;
}

const char *cuda_name(void)
{
    return gpu.is.name;
}

/* --- waiting ----------------------------------------------------------------------------------------------------- */

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
