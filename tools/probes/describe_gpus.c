/* describe_gpus: lists the GPUs of this machine on which ranks can train
 *
 * usage: describe_gpus: prints a line "index;name;pci bus id" per GPU. If there is none, prints the reason on one line and exits
 * with 77. One unusable GPU among several has the same effect, because ranks use all visible GPUs in turn. A separate program,
 * so that programs for cores do not load CUDA. */
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { STATUS_CANNOT = 77 };

/* Lowest compute capability of the compiled kernels, 80 for 8.0; set by the build. */
#ifndef LOCKSTEP_LEAST_CAPABILITY
#define LOCKSTEP_LEAST_CAPABILITY 0
#endif

_Noreturn static void refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn static void refuse(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("built with CUDA, no usable device (", stdout);
    vprintf(format, arguments);
    fputs(")\n", stdout);
    va_end(arguments);
    exit(STATUS_CANNOT);
}

int main(void)
{
    int version = 0, count = 0;
    if (ncclGetVersion(&version) != ncclSuccess)
        refuse("NCCL does not report its version");
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess)
        refuse("%s", cudaGetErrorString(error));
    if (count == 0)
        refuse("CUDA reports no GPU");
    for (int gpu = 0; gpu < count; gpu++) {
        struct cudaDeviceProp about;
        if (cudaGetDeviceProperties(&about, gpu) != cudaSuccess)
            refuse("CUDA cannot describe GPU %d", gpu);
        if (10 * about.major + about.minor < LOCKSTEP_LEAST_CAPABILITY)
            refuse("GPU %d, %s, is older than this build supports; CUDA_VISIBLE_DEVICES can hide it", gpu, about.name);
    }
    for (int gpu = 0; gpu < count; gpu++) {
        struct cudaDeviceProp about;
        char bus[32] = "?";
        cudaGetDeviceProperties(&about, gpu);
        cudaDeviceGetPCIBusId(bus, sizeof bus, gpu);
        printf("%d;%s;%s\n", gpu, about.name, bus);
    }
    return 0;
}
