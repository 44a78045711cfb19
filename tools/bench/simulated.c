/* Cost of a simulated rank: a lab on a modelled machine against a program of SMPI alone with the same charged seconds and the
 * same all-reduces (ranks/ranks_plain.c). Both run from start to end, with few steps and with more steps. The difference is the
 * cost of the additional steps, without the start. Times are CPU seconds: the ranks are one thread, and other load on the
 * machine does not add to them. */
#include "jobs.h"

#include "base/memory.h"
#include "launch/platform.h"
#include "launch/scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 5, RANKS = 64, FEW = 4, MORE = 44, SCRATCH_BYTES = 32 << 20 };
static const char PLATFORM[] = "gpu_cluster_400g", LAB[] = "01_straggler";

static struct ending run_lab(const char *folder, int steps)
{
    char *ranks = memory_text("%d", RANKS), *count = memory_text("%d", steps);
    const char *words[] = { "--platform", PLATFORM,  "--ranks",  ranks,   "--rounds", "1", "--steps",
                            count,        "--cases", "baseline", "--out", folder,     NULL };
    struct ending ending = jobs_run_lab(LAB, words);
    free(ranks);
    free(count);
    return ending;
}

static struct ending run_plain(int steps)
{
    return jobs_run(&(struct ranks_job){ .name = "plain", .ranks = RANKS, .steps = steps, .platform = PLATFORM });
}

static double per_step(const struct ending *few, const struct ending *more)
{
    return (more->busy - few->busy) / (MORE - FEW) / RANKS;
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
    enum { STEP, START, MEMORY, QUANTITIES };
    int rounds = bench_rounds(bench, ROUNDS);
    double *values = memory_new(2 * QUANTITIES * (size_t)rounds, sizeof *values), *ours[QUANTITIES], *alone[QUANTITIES];
    for (int i = 0; i < QUANTITIES; i++) {
        ours[i] = values + 2 * (ptrdiff_t)i * rounds;
        alone[i] = ours[i] + rounds;
    }
    for (int i = 0; i < rounds; i++) {
        struct ending few = run_lab(scratch.folder, FEW), plain_few = run_plain(FEW);
        struct ending more = run_lab(scratch.folder, MORE), plain_more = run_plain(MORE);
        ours[STEP][i] = per_step(&few, &more);
        alone[STEP][i] = per_step(&plain_few, &plain_more);
        ours[START][i] = few.busy;
        alone[START][i] = plain_few.busy;
        ours[MEMORY][i] = more.most_bytes / RANKS;
        alone[MEMORY][i] = plain_more.most_bytes / RANKS;
    }
    rows_add_rounds(&bench->rows, memory_text("a step of one of %d simulated ranks, against SMPI alone, us", RANKS),
                    1e6, ours[STEP], alone[STEP], rounds, (double)NAN);
    rows_add_rounds(&bench->rows, memory_text("a lab of %d such steps, against SMPI alone, s", FEW), 1, ours[START],
                    alone[START], rounds, (double)NAN);
    rows_add_rounds(&bench->rows, memory_text("memory of one of %d simulated ranks, MB", RANKS), 1e-6, ours[MEMORY],
                    alone[MEMORY], rounds, (double)NAN);
    free(values);
    scratch_close(&scratch);
}
