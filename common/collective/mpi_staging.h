/* message: a sum as MPI takes it, simulated or not. Where MPI cannot reach the device's memory, it is staged: copied to the
 * host, summed there, and copied back. */
#ifndef LOCKSTEP_MESSAGE_H
#define LOCKSTEP_MESSAGE_H

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

/* What to hand to MPI for a sum in this slot, 0 … COLLECTIVE_STARTED_MOST, each used by one sum at a time. Waits until what is
 * to be sent is there. */
struct mpi_staging mpi_staging_begin(struct mpi_stagings *messages, int slot, const struct sum *sum);
/* After MPI has done it: the result is on its way to where it belongs. */
void mpi_staging_end(struct mpi_stagings *messages, int slot, const struct sum *sum);

#endif
