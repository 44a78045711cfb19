/* An all-reduce of our own stands before MPI's, as the profiling interface allows. */
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

/* The same for a started sum: it is there at once, and the request is one that is done. */
int MPI_Iallreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request *request)
{
    if (sabotage == HONEST)
        return PMPI_Iallreduce(send, receive, count, type, op, comm, request);
    *request = MPI_REQUEST_NULL;
    return MPI_Allreduce(send, receive, count, type, op, comm);
}
