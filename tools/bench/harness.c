/* Cost of instrumentation: reading the clock and recording a phase (ranks/ranks_clocks.c), and all of the harness's work per step
 * (ranks/ranks_share.c). */
#include "jobs.h"

void bench_harness(struct bench *bench)
{
    rows_heading("What measuring costs");
    jobs_add_rows(bench, &(struct ranks_job){ .name = "clocks", .ranks = 1 });
    jobs_add_rows(bench, &(struct ranks_job){ .name = "share", .ranks = 1 });
}
