/* sabotage_nccl.c: replace NCCL's collectives and messages with -Wl,--wrap=ncclAllReduce and so on (sabotage.h). */
#include "support/sabotage.h"

#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdbool.h>

enum sabotage sabotage;

/* Declare a function to wrap and its replacement. */
#define WRAPPED(name, ...)                                                                                             \
    ncclResult_t __real_##name(__VA_ARGS__);                                                                           \
    ncclResult_t __wrap_##name(__VA_ARGS__)

WRAPPED(ncclAllReduce, const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
        ncclComm_t comm, cudaStream_t stream);
WRAPPED(ncclReduceScatter, const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
        ncclComm_t comm, cudaStream_t stream);
WRAPPED(ncclAllGather, const void *send, void *receive, size_t count, ncclDataType_t type, ncclComm_t comm,
        cudaStream_t stream);
WRAPPED(ncclBroadcast, const void *send, void *receive, size_t count, ncclDataType_t type, int from, ncclComm_t comm,
        cudaStream_t stream);
WRAPPED(ncclSend, const void *send, size_t count, ncclDataType_t type, int to, ncclComm_t comm, cudaStream_t stream);
WRAPPED(ncclRecv, void *receive, size_t count, ncclDataType_t type, int from, ncclComm_t comm, cudaStream_t stream);

static bool is_lost(size_t count)
{
    return sabotage == LOST && count == SABOTAGED;
}

static bool is_spoiled(size_t count)
{
    return (sabotage == FLIPPED || sabotage == STUCK) && count == SABOTAGED;
}

/* Make elements wrong; `result` of the call before. */
static ncclResult_t spoil(void *elements, size_t count, ncclResult_t result, ncclComm_t comm, cudaStream_t stream)
{
    while (result == ncclInProgress) /* the call may not have reached the stream yet */
        ncclCommGetAsyncError(comm, &result);
    char *first = elements;
    bool is_stuck = sabotage == STUCK;
    cudaError_t error = cudaMemsetAsync(first + (is_stuck ? STUCK_ELEMENT * sizeof(float) : 0), 0x5a,
                                        (is_stuck ? 1 : count) * sizeof(float), stream);
    return error == cudaSuccess ? result : ncclUnhandledCudaError;
}

/* Let a rank's own input be its result. */
static ncclResult_t copy_own(const void *send, void *receive, size_t count, cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;
    if (send != receive)
        error = cudaMemcpyAsync(receive, send, count * sizeof(float), cudaMemcpyDeviceToDevice, stream);
    return error == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t __wrap_ncclAllReduce(const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                                  ncclComm_t comm, cudaStream_t stream)
{
    if (is_lost(count))
        return copy_own(send, receive, count, stream);
    ncclResult_t result = __real_ncclAllReduce(send, receive, count, type, op, comm, stream);
    return is_spoiled(count) ? spoil(receive, count, result, comm, stream) : result;
}

ncclResult_t __wrap_ncclReduceScatter(const void *send, void *receive, size_t count, ncclDataType_t type,
                                      ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    if (is_lost(count))
        return ncclSuccess;
    ncclResult_t result = __real_ncclReduceScatter(send, receive, count, type, op, comm, stream);
    return is_spoiled(count) ? spoil(receive, count, result, comm, stream) : result;
}

ncclResult_t __wrap_ncclAllGather(const void *send, void *receive, size_t count, ncclDataType_t type, ncclComm_t comm,
                                  cudaStream_t stream)
{
    int ranks = 0;
    if (is_lost(count))
        return ncclSuccess;
    ncclCommCount(comm, &ranks);
    ncclResult_t result = __real_ncclAllGather(send, receive, count, type, comm, stream);
    return is_spoiled(count) ? spoil(receive, (size_t)ranks * count, result, comm, stream) : result;
}

ncclResult_t __wrap_ncclBroadcast(const void *send, void *receive, size_t count, ncclDataType_t type, int from,
                                  ncclComm_t comm, cudaStream_t stream)
{
    int rank = 0;
    ncclCommUserRank(comm, &rank);
    if (is_lost(count))
        return rank == from ? copy_own(send, receive, count, stream) : ncclSuccess;
    ncclResult_t result = __real_ncclBroadcast(send, receive, count, type, from, comm, stream);
    return is_spoiled(count) && rank != from ? spoil(receive, count, result, comm, stream) : result;
}

/* Send a wrong copy, because a receiver cannot spoil what it has not received yet. One such message at a time. */
ncclResult_t __wrap_ncclSend(const void *send, size_t count, ncclDataType_t type, int to, ncclComm_t comm,
                             cudaStream_t stream)
{
    static void *copy;
    if (is_lost(count))
        return ncclSuccess;
    if (is_spoiled(count)) {
        if ((!copy && cudaMalloc(&copy, count * sizeof(float)) != cudaSuccess) ||
            cudaMemcpyAsync(copy, send, count * sizeof(float), cudaMemcpyDeviceToDevice, stream) != cudaSuccess ||
            spoil(copy, count, ncclSuccess, comm, stream) != ncclSuccess)
            return ncclUnhandledCudaError;
        send = copy;
    }
    return __real_ncclSend(send, count, type, to, comm, stream);
}

ncclResult_t __wrap_ncclRecv(void *receive, size_t count, ncclDataType_t type, int from, ncclComm_t comm,
                             cudaStream_t stream)
{
    return is_lost(count) ? ncclSuccess : __real_ncclRecv(receive, count, type, from, comm, stream);
}
