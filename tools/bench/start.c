/* Time from start to end of a job with almost no work: a lab with a kept machine card against MPI alone, both started by the
 * same command. */
#include "jobs.h"

#include "guard.h"

#include "base/cores.h"
#include "base/memory.h"
#include "launch/scratch.h"

#include <math.h>
#include <stdlib.h>

enum { SCRATCH_BYTES = 16 << 20 };

/* Both sides of a start. */
struct both {
    const struct bench *bench;
    const struct ranks_job *plain;
    const char *const *words;
    bool is_plain_first;
    double ours, alone;
};

static bool start_both(void *argument)
{
    struct both *both = argument;
    if (both->is_plain_first)
        both->alone = jobs_run(both->bench, both->plain).seconds;
    both->ours = jobs_run_lab("01_straggler", both->words).seconds;
    if (!both->is_plain_first)
        both->alone = jobs_run(both->bench, both->plain).seconds;
    return true;
}

void bench_start(struct bench *bench)
{
    int starts = bench_starts(bench), ranks = cores_here() < 2 ? 1 : 2;
    const struct ranks_job plain = { .name = "plain", .ranks = ranks };
    struct scratch scratch = scratch_open(SCRATCH_BYTES);
    char *count = memory_text("%d", ranks);
    const char *words[] = { "--backend",   "mpi",   "--ranks",      count, "--batch-size",  "8",
                            "--input-dim", "64",    "--hidden-dim", "64",  "--num-classes", "10",
                            "--rounds",    "1",     "--steps",      "4",   "--cases",       "baseline",
                            "--keep-card", "--out", scratch.folder, NULL };
    double *ours = memory_new((size_t)starts, sizeof *ours), *alone = memory_new((size_t)starts, sizeof *alone);
    bool *is_disturbed = memory_new((size_t)starts, sizeof *is_disturbed);
    const struct guard guard = { .root = bench->options.root, .ranks = ranks };
    rows_heading("Start and end");
    jobs_run_lab("01_straggler", words); /* measures the card */
    for (int i = 0; i < starts; i++) {
        struct both both = { .bench = bench, .plain = &plain, .words = words, .is_plain_first = i % 2 };
        is_disturbed[i] = guard_run(&guard, start_both, &both);
        ours[i] = both.ours;
        alone[i] = both.alone;
    }
    rows_add_starts(
        &bench->rows,
        &(struct compared){
            .what = memory_text("a lab of 4 steps, %d ranks, card kept, against MPI that starts and ends, s", ranks),
            .per_second = 1,
            .ours = ours,
            .reference = alone,
            .count = starts,
            .is_disturbed = is_disturbed,
            .goal = (double)NAN });
    free(ours);
    free(alone);
    free(is_disturbed);
    free(count);
    scratch_close(&scratch);
}
