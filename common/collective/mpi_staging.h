/* mpi_staging: the arguments of a collective by MPI, real or simulated. If MPI cannot access device memory, the data is staged:
 * copied to the host, exchanged there, and copied back. */
#ifndef LOCKSTEP_MPI_STAGING_H
#define LOCKSTEP_MPI_STAGING_H

#include "collective/engine.h"

#include <mpi.h>

struct mpi_staging {
    enum collective_kind kind;
    const void *send; /* may be MPI_IN_PLACE */
    void *receive;
    int count; /* elements of a part */
    MPI_Datatype type;
    MPI_Op add;
    int to, from;       /* of a message; MPI_PROC_NULL: none */
    int sent, received; /* elements of a message; none without a rank */
    const void *result; /* where MPI leaves the result, if not in op.receive; else NULL */
};

struct mpi_stagings;
struct mpi_stagings *mpi_staging_open(int rank, int ranks);
void mpi_staging_close(struct mpi_stagings *messages);

/* Set `staging` to MPI's arguments for an operation in this slot, 0 … COLLECTIVE_STARTED_MOST. A slot serves one operation at a
 * time. Waits until the data to send is ready. */
void mpi_staging_begin(struct mpi_stagings *messages, int slot, const struct operation *operation,
                       struct mpi_staging *staging);
/* Call after MPI's exchange: starts to copy the result to op->receive if it lies elsewhere. */
void mpi_staging_end(struct mpi_stagings *messages, const struct mpi_staging *staging, const struct collective_op *op);

/* Run a collective by MPI, blocking. */
void mpi_staging_run(const struct mpi_staging *staging, MPI_Comm comm);

#endif
