/* sabotage_mpi.c: replace MPI's all-reduces through the profiling interface (sabotage.h). */
#include "support/sabotage.h"

#include <mpi.h>
#include <stdint.h>
#include <string.h>

enum sabotage sabotage;

int MPI_Allreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    if (sabotage == LOST && count == SABOTAGED) {
        if (send != MPI_IN_PLACE)
            memcpy(receive, send, (size_t)count * sizeof(float));
        return MPI_SUCCESS;
    }
    int status = PMPI_Allreduce(send, receive, count, type, op, comm);
    if (sabotage == FLIPPED && count == SABOTAGED)
        for (int i = 0; i < count; i++)
            ((uint32_t *)receive)[i] ^= 1u << 22; /* the highest bit of the fraction */
    if (sabotage == STUCK && count == SABOTAGED)
        ((float *)receive)[STUCK_ELEMENT] = -1e30f;
    return status;
}

/* Replace the nonblocking all-reduce: it finishes at once and returns a null request. */
int MPI_Iallreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request *request)
{
    if (sabotage == HONEST)
        return PMPI_Iallreduce(send, receive, count, type, op, comm, request);
    *request = MPI_REQUEST_NULL;
    return MPI_Allreduce(send, receive, count, type, op, comm);
}
