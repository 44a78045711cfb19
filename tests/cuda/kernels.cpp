/* The kernels, compiled for the CPU. */
#include "../../common/device_cuda_arrays.cu"
#include "../../common/device_cuda_attention.cu"
#include "../../common/device_cuda_rows.cu"
#include "../../common/device_cuda_text.cu"
