/* mpi_staging: the arguments of an all-reduce by MPI, real or simulated. If MPI cannot access device memory, the data is staged:
 * copied to the host, summed there, and copied back. */
#ifndef LOCKSTEP_MPI_STAGING_H
#define LOCKSTEP_MPI_STAGING_H

#include "collective/engine.h"

#include <mpi.h>

struct mpi_staging {
    const void *send;
    void *receive;
    int count;
    MPI_Datatype type;
    MPI_Op add;
};

struct mpi_stagings;
struct mpi_stagings *mpi_staging_open(void);
void mpi_staging_close(struct mpi_stagings *messages);

/* Give MPI's arguments for a sum in this slot, 0 … COLLECTIVE_STARTED_MOST. A slot serves one sum at a time. Waits until the
 * terms are ready. */
struct mpi_staging mpi_staging_begin(struct mpi_stagings *messages, int slot, const struct sum *sum);
/* Call after MPI has summed: starts to copy a staged result to sum->receive. */
void mpi_staging_end(struct mpi_stagings *messages, int slot, const struct sum *sum);

#endif
