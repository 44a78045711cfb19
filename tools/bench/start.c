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
    const char *words;
    bool is_plain_first;
    double ours, alone;
};

static bool start_both(void *argument)
{
    struct both *both = argument;
    if (both->is_plain_first)
        both->alone = jobs_run(both->bench, both->plain).seconds;
    both->ours = jobs_lab("01_straggler", NULL, "%s", both->words).seconds;
    if (!both->is_plain_first)
        both->alone = jobs_run(both->bench, both->plain).seconds;
    return true;
}

void bench_start(struct bench *bench)
{
    int starts = bench_starts(bench), ranks = cores_here() < 2 ? 1 : 2;
    const struct ranks_job plain = { .name = "plain", .ranks = ranks };
    struct scratch scratch = scratch_open(SCRATCH_BYTES);
    char *words = memory_text("--backend=mpi\n--ranks=%d\n--batch-size=8\n--input-dim=64\n--hidden-dim=64\n"
                              "--num-classes=10\n--rounds=1\n--steps=4\n--cases=baseline\n--keep-card\n--out=%s",
                              ranks, scratch.folder);
    bool is_disturbed[BENCH_STARTS_MOST];
    struct compared row = { .what = memory_text(
                                "a lab of 4 steps, %d ranks, card kept, against MPI that starts and ends, s", ranks),
                            .per_second = 1,
                            .count = starts,
                            .is_disturbed = is_disturbed,
                            .goal = (double)NAN };
    const struct guard guard = { .root = bench->options.root, .ranks = ranks };
    rows_heading("Start and end");
    jobs_lab("01_straggler", NULL, "%s", words); /* measures the card */
    for (int i = 0; i < starts; i++) {
        struct both both = { .bench = bench, .plain = &plain, .words = words, .is_plain_first = i % 2 };
        is_disturbed[i] = guard_run(&guard, start_both, &both);
        row.ours[i] = both.ours;
        row.reference[i] = both.alone;
    }
    rows_add_starts(&bench->rows, &row);
    free(words);
    scratch_close(&scratch);
}
