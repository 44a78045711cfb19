/* sabotage_mpi.c: replace MPI's collectives and messages through the profiling interface (sabotage.h). */
#include "support/sabotage.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum sabotage sabotage;

static bool is_lost(int count)
{
    return sabotage == LOST && count == SABOTAGED;
}

/* Make elements of a result wrong; `count`: those of the call. */
static void spoil(void *result, int elements, int count)
{
    if (sabotage == FLIPPED && count == SABOTAGED)
        for (int i = 0; i < elements; i++)
            ((uint32_t *)result)[i] ^= 1u << 22; /* the highest bit of the fraction */
    if (sabotage == STUCK && count == SABOTAGED)
        ((float *)result)[STUCK_ELEMENT] = -1e30f;
}

int MPI_Allreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    if (is_lost(count)) {
        if (send != MPI_IN_PLACE)
            memcpy(receive, send, (size_t)count * sizeof(float));
        return MPI_SUCCESS;
    }
    int status = PMPI_Allreduce(send, receive, count, type, op, comm);
    spoil(receive, count, count);
    return status;
}

int MPI_Allgather(const void *send, int sent, MPI_Datatype type, void *receive, int count, MPI_Datatype received,
                  MPI_Comm comm)
{
    if (is_lost(count))
        return MPI_SUCCESS;
    int ranks = 0, status = PMPI_Allgather(send, sent, type, receive, count, received, comm);
    MPI_Comm_size(comm, &ranks);
    spoil(receive, ranks * count, count);
    return status;
}

int MPI_Reduce_scatter_block(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    if (is_lost(count))
        return MPI_SUCCESS;
    int status = PMPI_Reduce_scatter_block(send, receive, count, type, op, comm);
    spoil(receive, count, count);
    return status;
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    if (is_lost(count))
        return MPI_SUCCESS;
    int rank = 0, status = PMPI_Bcast(buffer, count, type, root, comm);
    MPI_Comm_rank(comm, &rank);
    if (rank != root)
        spoil(buffer, count, count);
    return status;
}

int MPI_Sendrecv(const void *send, int sent, MPI_Datatype type, int to, int tag, void *receive, int count,
                 MPI_Datatype received, int from, int receive_tag, MPI_Comm comm, MPI_Status *state)
{
    if (is_lost(sent) || is_lost(count))
        return MPI_SUCCESS;
    int status = PMPI_Sendrecv(send, sent, type, to, tag, receive, count, received, from, receive_tag, comm, state);
    spoil(receive, count, count);
    return status;
}

/* --- nonblocking: sabotaged collectives finish at once and return a null request ---------------------------------- */

int MPI_Iallreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request *request)
{
    if (sabotage == HONEST)
        return PMPI_Iallreduce(send, receive, count, type, op, comm, request);
    *request = MPI_REQUEST_NULL;
    return MPI_Allreduce(send, receive, count, type, op, comm);
}

int MPI_Iallgather(const void *send, int sent, MPI_Datatype type, void *receive, int count, MPI_Datatype received,
                   MPI_Comm comm, MPI_Request *request)
{
    if (sabotage == HONEST)
        return PMPI_Iallgather(send, sent, type, receive, count, received, comm, request);
    *request = MPI_REQUEST_NULL;
    return MPI_Allgather(send, sent, type, receive, count, received, comm);
}

int MPI_Ireduce_scatter_block(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                              MPI_Request *request)
{
    if (sabotage == HONEST)
        return PMPI_Ireduce_scatter_block(send, receive, count, type, op, comm, request);
    *request = MPI_REQUEST_NULL;
    return MPI_Reduce_scatter_block(send, receive, count, type, op, comm);
}

int MPI_Ibcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request)
{
    if (sabotage == HONEST)
        return PMPI_Ibcast(buffer, count, type, root, comm, request);
    *request = MPI_REQUEST_NULL;
    return MPI_Bcast(buffer, count, type, root, comm);
}

int MPI_Irecv(void *receive, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
    if (!is_lost(count))
        return PMPI_Irecv(receive, count, type, from, tag, comm, request);
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

/* Send a wrong copy, because a receiver cannot spoil what it has not received yet. One such message at a time. */
int MPI_Isend(const void *send, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    static float copy[SABOTAGED];
    *request = MPI_REQUEST_NULL;
    if (is_lost(count))
        return MPI_SUCCESS;
    if (sabotage != HONEST && count == SABOTAGED) {
        memcpy(copy, send, sizeof copy);
        spoil(copy, count, count);
        send = copy;
    }
    return PMPI_Isend(send, count, type, to, tag, comm, request);
}
