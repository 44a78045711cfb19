/* All-reduces through the harness against MPI alone (ranks/ranks_sums.c). */
#include "jobs.h"

#include "base/cores.h"

void bench_sums(struct bench *bench)
{
    int cores = cores_here();
    rows_heading("Sums");
    for (int ranks = cores < 2 ? cores : 2; ranks <= cores;
         ranks = ranks < cores && 2 * ranks > cores ? cores : 2 * ranks)
        jobs_add_rows(bench, &(struct ranks_job){ .name = "sums", .ranks = ranks });
}
