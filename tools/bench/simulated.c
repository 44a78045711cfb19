/* Cost of a simulated rank: a lab on a modelled machine against a program of SMPI alone with the same charged seconds and the
 * same all-reduces (ranks/ranks_plain.c). Both run from start to end, with few steps and with more steps. The difference is the
 * cost of the additional steps, without the start. Times are CPU seconds: the ranks are one thread, and other load on the
 * machine does not add to them. */
#include "jobs.h"

#include "guard.h"

#include "base/memory.h"
#include "launch/platform.h"
#include "launch/scratch.h"

#include <math.h>
#include <stdio.h>

enum { RANKS = 64, TOY_RANKS = 24, FEW = 4, MORE = 84, SCRATCH_BYTES = 32 << 20 };
static const char PLATFORM[] = "gpu_cluster_400g", LAB[] = "01_straggler";

static int ranks_of(const struct bench *bench)
{
    return bench->options.is_toy ? TOY_RANKS : RANKS;
}

static struct ending run_lab(const struct bench *bench, const char *folder, int steps)
{
    return jobs_lab(LAB, NULL, "--platform=%s\n--ranks=%d\n--rounds=1\n--steps=%d\n--cases=baseline\n--out=%s",
                    PLATFORM, ranks_of(bench), steps, folder);
}

static struct ending run_plain(const struct bench *bench, int steps)
{
    return jobs_run(
        bench, &(struct ranks_job){ .name = "plain", .ranks = ranks_of(bench), .steps = steps, .platform = PLATFORM });
}

static double per_step(const struct bench *bench, const struct ending *few, const struct ending *more)
{
    return (more->busy - few->busy) / (MORE - FEW) / ranks_of(bench);
}

/* Both sides of a start: the lab and SMPI alone, with few steps and with more. */
struct both {
    const struct bench *bench;
    const char *folder;
    bool is_plain_first;
    struct ending few, more, plain_few, plain_more;
};

static bool run_both(void *argument)
{
    struct both *b = argument;
    for (int turn = 0; turn < 2; turn++)
        if ((turn == 0) == b->is_plain_first) {
            b->plain_few = run_plain(b->bench, FEW);
            b->plain_more = run_plain(b->bench, MORE);
        } else {
            b->few = run_lab(b->bench, b->folder, FEW);
            b->more = run_lab(b->bench, b->folder, MORE);
        }
    return true;
}

/* Return a row without starts. Takes ownership of `what`. */
static struct compared row_of(char *what, double per_second, int starts, const bool *is_disturbed)
{
    return (struct compared){
        .what = what, .per_second = per_second, .count = starts, .is_disturbed = is_disturbed, .goal = (double)NAN
    };
}

void bench_simulated(struct bench *bench)
{
    rows_heading("Simulated ranks");
    const char *lacks = platform_lacks(LAB);
    if (lacks) {
        printf("none here: %s\n", lacks);
        return;
    }
    struct scratch scratch = scratch_open(SCRATCH_BYTES);
    const int starts = bench_starts(bench), ranks = ranks_of(bench);
    bool is_disturbed[BENCH_STARTS_MOST];
    const struct guard guard = { .root = bench->options.root, .ranks = 1 }; /* simulated ranks are one thread */
    struct compared step = row_of(memory_text("a step of one of %d simulated ranks, against SMPI alone, us", ranks),
                                  1e6, starts, is_disturbed),
                    start = row_of(memory_text("a lab of %d such steps, against SMPI alone, s", FEW), 1, starts,
                                   is_disturbed),
                    memory = row_of(memory_text("memory of one of %d simulated ranks, MB", ranks), 1e-6, starts,
                                    is_disturbed);
    for (int i = 0; i < starts; i++) {
        struct both b = { .bench = bench, .folder = scratch.folder, .is_plain_first = i % 2 };
        is_disturbed[i] = guard_run(&guard, run_both, &b);
        step.ours[i] = per_step(bench, &b.few, &b.more);
        step.reference[i] = per_step(bench, &b.plain_few, &b.plain_more);
        start.ours[i] = b.few.busy;
        start.reference[i] = b.plain_few.busy;
        memory.ours[i] = b.more.most_bytes / ranks;
        memory.reference[i] = b.plain_more.most_bytes / ranks;
    }
    rows_add_starts(&bench->rows, &step);
    rows_add_starts(&bench->rows, &start);
    rows_add_starts(&bench->rows, &memory);
    scratch_close(&scratch);
}
