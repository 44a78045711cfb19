/* How long it takes until all is over where next to nothing is asked: a lab whose machine card is kept, and MPI alone, both
 * started in the same words. */
#include "jobs.h"

#include "cores.h"
#include "memory.h"

#include <math.h>
#include <stdlib.h>

enum { ROUNDS = 10 };

void bench_start(struct bench *bench)
{
    int rounds = bench_rounds(bench, ROUNDS), ranks = cores_here() < 2 ? 1 : 2;
    const struct ranks_job plain = { .name = "plain", .ranks = ranks };
    char *folder = memory_text("%s/bench_start", bench->options.out), *count = memory_text("%d", ranks);
    const char *words[] = { "--backend",
                            "mpi",
                            "--ranks",
                            count,
                            "--batch-size",
                            "8",
                            "--input-dim",
                            "64",
                            "--hidden-dim",
                            "64",
                            "--num-classes",
                            "10",
                            "--rounds",
                            "1",
                            "--steps",
                            "4",
                            "--cases",
                            "baseline",
                            "--out",
                            folder,
                            NULL };
    double *ours = memory_new((size_t)rounds, sizeof *ours), *alone = memory_new((size_t)rounds, sizeof *alone);
    rows_heading("Start and end");
    jobs_run_lab("01_straggler", words); /* measures the card, which is kept */
    for (int i = 0; i < rounds; i++) {
        ours[i] = jobs_run_lab("01_straggler", words).seconds;
        alone[i] = jobs_run(&plain).seconds;
    }
    rows_add_rounds(&bench->rows, memory_text("a lab of 4 steps, %d ranks, against MPI that starts and ends, s", ranks),
                    1, ours, alone, rounds, (double)NAN);
    free(ours);
    free(alone);
    free(folder);
    free(count);
}
