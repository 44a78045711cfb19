/* world_mpi: struct world, for the files of the MPI backends only. */
#ifndef LOCKSTEP_WORLD_MPI_H
#define LOCKSTEP_WORLD_MPI_H

#include <mpi.h>

#include <stdint.h>

enum { PARTS_MOST = 64 };

struct world {
    MPI_Comm comm;
    int rank, size, cores;
    struct world *job;                /* the whole job, which contains this world; itself for the job */
    struct flight_recorder *recorder; /* of this rank's host */
    struct watchdog *watchdog;        /* of real ranks, in the whole world only, not in a part */
    int hosts;                        /* 0: ranks are simulated, and the members below are unused */
    int host;                         /* index of this rank's host */
    int place, cores_here;            /* index of this rank on its host; cores that the host's ranks may use */
    MPI_Comm here;                    /* ranks of this host */
    MPI_Comm firsts;                  /* first rank of each host; MPI_COMM_NULL on other ranks */
    struct part {                     /* of the job only: see world_next_number() */
        uint64_t ranks;               /* hash of the part's ranks */
        int count;
    } parts[PARTS_MOST];
};

#endif
