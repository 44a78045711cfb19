/* world_mpi: what the files of the MPI backend share, and nobody else includes. */
#ifndef LOCKSTEP_WORLD_MPI_H
#define LOCKSTEP_WORLD_MPI_H

#include <mpi.h>

struct world {
    MPI_Comm comm;
    int rank, size, cores;
    struct board *board;       /* where ranks are simulated, rank 0's alone */
    struct watchdog *watchdog; /* of real ranks, and of the whole world, not of a part */
};

#endif
