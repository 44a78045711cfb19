/* sabotage_nccl.c: replace NCCL's all-reduce with -Wl,--wrap=ncclAllReduce (sabotage.h). */
#include "support/sabotage.h"

#include <cuda_runtime_api.h>
#include <nccl.h>

enum sabotage sabotage;

ncclResult_t __real_ncclAllReduce(const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                                  ncclComm_t comm, cudaStream_t stream);
ncclResult_t __wrap_ncclAllReduce(const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                                  ncclComm_t comm, cudaStream_t stream);

ncclResult_t __wrap_ncclAllReduce(const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                                  ncclComm_t comm, cudaStream_t stream)
{
    if (count == SABOTAGED && sabotage == LOST && send == receive)
        return ncclSuccess;
    ncclResult_t result = __real_ncclAllReduce(send, receive, count, type, op, comm, stream);
    if (count != SABOTAGED || sabotage == HONEST)
        return result;
    while (result == ncclInProgress) /* the call may not have reached the stream yet */
        ncclCommGetAsyncError(comm, &result);
    cudaError_t error;
    if (sabotage == LOST)
        error = cudaMemcpyAsync(receive, send, count * sizeof(float), cudaMemcpyDeviceToDevice, stream);
    else if (sabotage == STUCK)
        error = cudaMemsetAsync((float *)receive + STUCK_ELEMENT, 0x5a, sizeof(float), stream);
    else
        error = cudaMemsetAsync(receive, 0x5a, count * sizeof(float), stream);
    return error == cudaSuccess ? result : ncclUnhandledCudaError;
}
