/* kernels.cpp: compile the CUDA kernels for the CPU. */
#include "device/device_cuda_arrays.cu"
#include "device/device_cuda_attention.cu"
#include "device/device_cuda_chain.cu"
#include "device/device_cuda_pointwise.cu"
#include "device/device_cuda_rows.cu"
#include "device/device_cuda_sequences.cu"
