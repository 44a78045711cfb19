/* Time from start to end of a job with almost no work: a lab with a kept machine card against MPI alone, both started by the
 * same command. */
#include "jobs.h"

#include "guard.h"

#include "base/cores.h"
#include "base/die.h"
#include "base/files.h"
#include "base/memory.h"
#include "launch/scratch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 10, SCRATCH_BYTES = 16 << 20 };

/* Seconds of a lab run that used its kept card. Steps this short are sometimes so far off that the lab measures the card
 * again; such a run is repeated. */
static double time_lab(const char *const *words, const char *said)
{
    double seconds = (double)NAN;
    for (int i = 0; i < TRIES && isnan(seconds); i++) {
        struct ending ending = jobs_try_lab("01_straggler", words, said);
        char *text = file_read(said, NULL);
        if (ending.status != STATUS_RIGHT || !text)
            die(STATUS_WRONG, "01_straggler ended with status %d; run it alone to see why", ending.status);
        if (!strstr(text, "measuring the machine card"))
            seconds = ending.seconds;
        free(text);
    }
    return seconds;
}

/* Both sides of a start. */
struct both {
    const struct ranks_job *plain;
    const char *const *words;
    const char *said;
    bool is_plain_first;
    double ours, alone;
};

static bool start_both(void *argument)
{
    struct both *both = argument;
    if (both->is_plain_first)
        both->alone = jobs_run(both->plain, 0).seconds;
    both->ours = time_lab(both->words, both->said);
    if (!both->is_plain_first)
        both->alone = jobs_run(both->plain, 0).seconds;
    return true;
}

void bench_start(struct bench *bench)
{
    int starts = bench_starts(bench), ranks = cores_here() < 2 ? 1 : 2;
    const struct ranks_job plain = { .name = "plain", .ranks = ranks };
    struct scratch scratch = scratch_open(SCRATCH_BYTES);
    char *said = memory_text("%s/said", scratch.folder), *count = memory_text("%d", ranks);
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
                            scratch.folder,
                            NULL };
    double *ours = memory_new((size_t)starts, sizeof *ours), *alone = memory_new((size_t)starts, sizeof *alone);
    bool *is_disturbed = memory_new((size_t)starts, sizeof *is_disturbed);
    const struct guard guard = { .root = bench->options.root, .ranks = ranks };
    rows_heading("Start and end");
    jobs_try_lab("01_straggler", words, said); /* measures and keeps the card */
    for (int i = 0; i < starts; i++) {
        struct both both = { .plain = &plain, .words = words, .said = said, .is_plain_first = i % 2 };
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
    free(said);
    free(count);
    scratch_close(&scratch);
}
