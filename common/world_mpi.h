/* world_mpi: what the files of the MPI backend share, and nobody else includes. */
#ifndef LOCKSTEP_WORLD_MPI_H
#define LOCKSTEP_WORLD_MPI_H

#include <mpi.h>

struct world {
    MPI_Comm comm;
    int rank, size, cores;
    struct board *board;       /* these two: NULL where ranks are simulated */
    struct watchdog *watchdog; /* of the whole world, not of a part */
};

#endif
