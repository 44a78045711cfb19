/* Cost of waiting ranks for a working rank (ranks/ranks_waiting.c): with a core per rank, and with two ranks per core. */
#include "jobs.h"

#include "base/cores.h"

void bench_waiting(struct bench *bench)
{
    int cores = cores_here();
    rows_heading("Waiting");
    if (cores > 1)
        jobs_add_rows(bench, &(struct ranks_job){ .name = "waiting", .ranks = cores });
    jobs_add_rows(bench, &(struct ranks_job){ .name = "waiting", .ranks = 2 * cores });
}
