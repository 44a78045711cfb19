/* The labs against PyTorch: each published case (contest.h). Means over cases are given for 1, 2 and 4 ranks apart, as four ranks may share
 * fewer cores, and also without the cases with a sleep, which is equally long in every program. */
#include "contest.h"

#include "base/csv.h"
#include "base/die.h"

#include <math.h>
#include <string.h>

enum { CASES_MOST = 24 };

static const struct contest_group groups[] = {
    { "cases", 0, false, 0.5 },
    { "cases without a sleep", 0, true, (double)NAN },
    { "cases of 1 rank", 1, false, (double)NAN },
    { "cases of 2 ranks", 2, false, (double)NAN },
    { "cases of 4 ranks", 4, false, (double)NAN },
    { "cases of 4 ranks without a sleep", 4, true, (double)NAN },
};

/* List each published case once. If several labs have the case, take the lab that uses the post's name for it. Return their number. */
static int list_cases(struct contest_case *cases, const struct csv_table *blog)
{
    int count = 0;
    for (int row = 0; row < blog->rows; row++) {
        if (strcmp(csv_field(blog, row, "case"), csv_field(blog, row, "slug")) != 0)
            continue;
        if (count == CASES_MOST)
            die(STATUS_WRONG, "expected/blog.csv has more than %d cases", CASES_MOST);
        const bool has_texts = !isnan(csv_value(blog, row, "useful_tokens_per_s"));
        cases[count++] = (struct contest_case){ .lab = csv_field(blog, row, "lab"),
                                                .name = csv_field(blog, row, "case"),
                                                .ranks = (int)csv_value(blog, row, "ranks"),
                                                .model = has_texts ? &published_transformer : &published_mlp,
                                                .data = has_texts ? "texts" : "samples",
                                                .sleeps = csv_value(blog, row, "sleep_ms") > 0 };
    }
    return count;
}

void bench_labs(struct bench *bench)
{
    struct csv_table blog =
        csv_open(LOCKSTEP_SOURCE "/expected/blog.csv",
                 (const char *const[]){ "lab", "case", "slug", "ranks", "sleep_ms", "useful_tokens_per_s", NULL });
    struct contest_case cases[CASES_MOST];
    const int count = list_cases(cases, &blog);
    rows_heading("The published cases, a step");
    contest_run(bench, cases, count, groups, sizeof groups / sizeof *groups);
    csv_free(&blog);
}
