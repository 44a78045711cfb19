/* The kernels, compiled for the CPU. */
#include "../../common/device_cuda_kernels.cu"
