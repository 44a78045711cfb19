/* contest: cases of our labs in turns with the same cases in PyTorch (tools/bench/torch_labs.py), with the published settings: 12 steps,
 * 2 of them skipped, mean of the slowest rank.
 *
 * The system's PyTorch takes part, and that of --torch beside it. Each takes part twice: as it is, and tuned by its environment:
 * with pages kept and, if its BLAS is OpenBLAS, with the kernel that our labs use. MKL, which the wheels for x86-64 contain, ignores
 * that setting, so a PyTorch with MKL is tuned by pages alone. With malloc's defaults a step may need new pages from the kernel for
 * memory that the step before returned; with pages kept, only arithmetic and messages are compared.
 *
 * A start begins new PyTorch programs and then runs every case once in each program; our lab is a new process for each case. Only
 * one program runs at a time: the PyTorch processes sleep until asked. */
#ifndef LOCKSTEP_BENCH_CONTEST_H
#define LOCKSTEP_BENCH_CONTEST_H

#include "bench.h"
#include "model/workload.h"

struct contest_case {
    const char *lab, *name;
    int ranks;
    bool asks_for_ranks;          /* else the case brings its ranks with it */
    const struct workload *model; /* what it trains */
    const char *data;             /* name of what it trains on: labs that share it share a machine card */
    bool sleeps;                  /* a rank sleeps in each step */
};

/* Cases whose geometric mean is a row; ranks 0: of any number. */
struct contest_group {
    const char *of;
    int ranks;
    bool without_sleep;
    double goal;
};

/* Add a row for each case (count) and each group, beside each PyTorch. Print the reason if there is no PyTorch. */
void contest_run(struct bench *bench, const struct contest_case *cases, int count, const struct contest_group *groups,
                 int group_count);

#endif
