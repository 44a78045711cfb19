/* What waiting ranks cost those that work (ranks/ranks_waiting.c): with a core each, and with twice as many ranks. */
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
