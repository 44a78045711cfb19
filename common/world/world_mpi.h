/* world_mpi: what the files of the MPI backend share, and nobody else includes. */
#ifndef LOCKSTEP_WORLD_MPI_H
#define LOCKSTEP_WORLD_MPI_H

#include <mpi.h>

struct world {
    MPI_Comm comm;
    int rank, size, cores;
    struct flight_recorder *recorder; /* of this rank's host; where ranks are simulated, rank 0's alone */
    struct watchdog *watchdog;        /* of real ranks, and of the whole world, not of a part */
    int hosts;                        /* 0 where ranks are simulated, and the rest is of no meaning */
    int host;                         /* index of this rank's */
    int place, cores_here;            /* this rank among those of its host, and the cores that they may use */
    MPI_Comm here;                    /* they by themselves, */
    MPI_Comm firsts;                  /* and the first rank of each host; MPI_COMM_NULL on the others */
};

#endif
