/* To be loaded before MPI's library: rank 1 never comes to the end. */
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
