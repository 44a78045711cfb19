/* What a simulated rank costs: a lab on a modelled machine, and a program of SMPI alone that charges the same seconds and
 * makes the same all-reduces (ranks/ranks_plain.c), both from start to end. */
#include "jobs.h"

#include "memory.h"
#include "platform.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 5, RANKS = 64, STEPS = 50 };
static const char PLATFORM[] = "gpu_cluster_400g", LAB[] = "01_straggler";

void bench_simulated(struct bench *bench)
{
    rows_heading("Simulated ranks");
    const char *lacks = platform_lacks(LAB);
    if (lacks) {
        printf("none here: %s\n", lacks);
        return;
    }
    int rounds = bench_rounds(bench, ROUNDS);
    const struct ranks_job plain = { .name = "plain", .ranks = RANKS, .steps = STEPS, .platform = PLATFORM };
    char *folder = memory_text("%s/bench_simulated", bench->options.out);
    char *ranks = memory_text("%d", RANKS), *steps = memory_text("%d", STEPS);
    const char *words[] = { "--platform", PLATFORM,  "--ranks",  ranks,   "--rounds", "1", "--steps",
                            steps,        "--cases", "baseline", "--out", folder,     NULL };
    double *values = memory_new(4 * (size_t)rounds, sizeof *values), *ours = values, *alone = ours + rounds;
    double *ours_mb = alone + rounds, *alone_mb = ours_mb + rounds;
    for (int i = 0; i < rounds; i++) {
        struct ending mine = jobs_run_lab(LAB, words), theirs = jobs_run(&plain);
        ours[i] = mine.seconds / RANKS / STEPS;
        alone[i] = theirs.seconds / RANKS / STEPS;
        ours_mb[i] = mine.most_bytes / RANKS;
        alone_mb[i] = theirs.most_bytes / RANKS;
    }
    rows_add_rounds(&bench->rows, memory_text("a step of one of %d simulated ranks, against SMPI alone, us", RANKS),
                    1e6, ours, alone, rounds, (double)NAN);
    rows_add_rounds(&bench->rows, memory_text("memory of one of %d simulated ranks, MB", RANKS), 1e-6, ours_mb,
                    alone_mb, rounds, (double)NAN);
    free(values);
    free(folder);
    free(ranks);
    free(steps);
}
