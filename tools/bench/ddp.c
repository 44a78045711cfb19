/* Lab 09 against PyTorch's DistributedDataParallel (contest.h): the same model, two ranks, buckets of the same sizes. best_bucket, whose
 * size the lab predicts for this machine, is beside DDP's default. */
#include "contest.h"

static const char *const names[] = { "one_bucket", "small_buckets", "ddp_default", "best_bucket" };
enum { RANKS = 2, CASES = sizeof names / sizeof *names };
static const struct contest_group all = { "cases of buckets", 0, false, 1 };

void bench_ddp(struct bench *bench)
{
    struct contest_case cases[CASES];
    for (int i = 0; i < CASES; i++)
        cases[i] = (struct contest_case){ .lab = "09_ddp_inside",
                                          .name = names[i],
                                          .ranks = RANKS,
                                          .asks_for_ranks = true,
                                          .model = &stacked_mlp,
                                          .data = "buckets" };
    rows_heading("Buckets of DistributedDataParallel, a step");
    contest_run(bench, cases, CASES, &all, 1);
}
