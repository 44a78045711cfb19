/* sabotage_end.c: a library for LD_PRELOAD in front of MPI, with which rank 1 hangs in MPI_Finalize(). */
#include <mpi.h>
#include <unistd.h>

int MPI_Finalize(void)
{
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    while (rank == 1)
        pause();
    return PMPI_Finalize();
}
