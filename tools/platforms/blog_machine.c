/* blog_machine: compares the simulated machine of the blog with the blog's published numbers
 *
 *     blog_machine --results results --expected expected
 *
 * Reads blog.csv and, for each of its rows, RESULTS/platforms/blog/LAB/rounds.csv: the step of the slowest rank in each round.
 * A round has the published number of steps and its own jitter. Prints per published case
 *
 *     published   milliseconds
 *     simulated   mean over rounds [least … most]
 *     error       simulated / published - 1
 *     change      the same for the difference to the first case of the post (weak_ws4, fixed_sample_ws4)
 *
 * and writes the same to RESULTS/platforms/blog/blog.csv. The limits were set before the machine was fitted. Predicted rows:
 * within 10 % of the published ones (failure above 15 %), changes within 20 %. Any two cases of a post: in the published order.
 * Fitted rows: within 3 %.
 *
 * Exit status: 0 within all limits, 1 not, 2 nothing to read. */
#include "base/csv.h"
#include "base/die.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/stats.h"
#include "options/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CASES_MOST = 64 };
static const double error_goal = 0.1, error_most = 0.15, fitted_error_most = 0.03, change_error_most = 0.2;

struct options {
    const char *results, *expected;
};
#define AT(member) offsetof(struct options, member)
static const struct option_row rows[] = {
    { "--results", OPTION_TEXT, AT(results), 0, 0, "DIR", "folder of the results" },
    { "--expected", OPTION_TEXT, AT(expected), 0, 0, "DIR", "folder of the published numbers" },
    { 0 },
};
#undef AT

struct row {
    const char *lab, *name, *slug;
    bool is_fitted, has_texts; /* has_texts: of the post about sequences */
    const struct row *first;   /* first row of the post */
    double published, simulated, least, most;
    int rounds; /* 0: not run */
};

/* Fill in the simulated step from the rounds of the case. */
static void read_rounds(struct row *r, const char *results)
{
    char *path = memory_text("%s/platforms/blog/%s/rounds.csv", results, r->lab);
    bool is_there = access(path, F_OK) == 0;
    struct csv_table table = { 0 };
    if (is_there)
        table = csv_open(path, (const char *const[]){ "case", "slowest_step_ms", NULL });
    free(path);
    if (!is_there)
        return;
    double *steps = memory_new((size_t)table.rows + 1, sizeof *steps);
    for (int row = 0; row < table.rows; row++)
        if (strcmp(csv_field(&table, row, "case"), r->name) == 0)
            steps[r->rounds++] = csv_value(&table, row, "slowest_step_ms");
    r->simulated = stats_mean(steps, r->rounds);
    r->least = stats_quantile(steps, r->rounds, 0);
    r->most = stats_quantile(steps, r->rounds, 1);
    free(steps);
    csv_free(&table);
}

/* List each published case once, in the order of blog.csv. Labs 01 to 04 share a baseline. Return the count. */
static int list_rows(struct row *list, const struct csv_table *blog, const char *results)
{
    int count = 0;
    for (int i = 0; i < blog->rows && count < CASES_MOST; i++) {
        struct row r = { .lab = csv_field(blog, i, "lab"),
                         .name = csv_field(blog, i, "case"),
                         .slug = csv_field(blog, i, "slug"),
                         .published = csv_value(blog, i, "slowest_step_ms") };
        const char *role = csv_field(blog, i, "role");
        bool is_new = role && *role;
        for (int before = 0; before < count; before++)
            is_new &= strcmp(list[before].slug, r.slug) != 0;
        if (!is_new)
            continue;
        r.is_fitted = strcmp(role, "fitted") == 0;
        r.has_texts = strcmp(r.lab, "05_token_skew") == 0;
        read_rounds(&r, results);
        list[count++] = r;
    }
    for (int i = 0; i < count; i++)
        for (int first = 0; first < count && !list[i].first; first++)
            if (list[first].has_texts == list[i].has_texts)
                list[i].first = &list[first];
    return count;
}

static double error_of(const struct row *r)
{
    return r->simulated / r->published - 1;
}

/* Return the error of the change; NaN for the first case of a post, or if that was not run. */
static double change_error(const struct row *r)
{
    const struct row *first = r->first;
    if (r == first || !first->rounds)
        return (double)NAN;
    return (r->simulated - first->simulated) / (r->published - first->published) - 1;
}

static void put_percent(double share, int width)
{
    if (isnan(share))
        printf("%*s", width, "");
    else
        printf("%+*.1f %%", width - 2, 100 * share);
}

static void show(const struct row *list, int count)
{
    int rounds = 0;
    for (int i = 0; i < count; i++)
        rounds = list[i].rounds > rounds ? list[i].rounds : rounds;
    printf("The blog's machine, simulated (%d rounds, each with a jitter of its own); ms a step, slowest rank\n",
           rounds);
    printf("%-22s %-10s %10s %10s %-18s %8s %10s\n", "case", "", "published", "simulated", " [least … most]", "error",
           "change");
    for (int i = 0; i < count; i++) {
        const struct row *r = &list[i];
        printf("%-22s %-10s %10.2f ", r->slug, r->is_fitted ? "fitted" : "predicted", r->published);
        if (!r->rounds) {
            puts("         - not run");
            continue;
        }
        char *band = memory_text(" [%.2f … %.2f]", r->least, r->most);
        printf("%10.2f %-20s", r->simulated, band); /* two bytes more than characters */
        free(band);
        put_percent(error_of(r), 9);
        put_percent(change_error(r), 11);
        putchar('\n');
    }
}

static void write_table(const struct row *list, int count, const char *results)
{
    char *folder = memory_text("%s/platforms/blog", results);
    struct file file = file_begin(folder, "blog.csv");
    fputs("# simulated: the blog's machine (platforms/blog.xml) against what the posts printed\n", file.out);
    struct csv csv = { .out = file.out };
    for (int i = 0; i < count; i++) {
        const struct row *r = &list[i];
        do {
            csv_text(&csv, "slug", r->slug);
            csv_text(&csv, "lab", r->lab);
            csv_text(&csv, "case", r->name);
            csv_text(&csv, "role", r->is_fitted ? "fitted" : "predicted");
            csv_number(&csv, "published_ms", r->published);
            csv_integer(&csv, "rounds", r->rounds);
            csv_ms(&csv, "simulated_ms", r->rounds ? r->simulated / 1e3 : (double)NAN);
            csv_ms(&csv, "least_ms", r->rounds ? r->least / 1e3 : (double)NAN);
            csv_ms(&csv, "most_ms", r->rounds ? r->most / 1e3 : (double)NAN);
            csv_ratio(&csv, "error", r->rounds ? error_of(r) : (double)NAN);
            csv_ratio(&csv, "change_error", r->rounds ? change_error(r) : (double)NAN);
        } while (csv_end_row(&csv));
    }
    file_commit(&file);
    free(folder);
}

/* Print each limit that is exceeded; return their number. */
static int judge(const struct row *list, int count)
{
    int wrong = 0, beyond = 0;
    for (int i = 0; i < count; i++) {
        const struct row *r = &list[i];
        if (!r->rounds)
            continue;
        double error = fabs(error_of(r)), change = fabs(change_error(r));
        if (!(error <= (r->is_fitted ? fitted_error_most : error_most))) {
            printf("%s is off by %.1f %%\n", r->slug, 100 * error);
            wrong++;
        }
        if (!r->is_fitted && r->first->rounds && !(change <= change_error_most)) {
            printf("%s changes %s by %.1f %% too much or too little\n", r->slug, r->first->slug, 100 * change);
            wrong++;
        }
        beyond += !r->is_fitted && error > error_goal;
        for (int other = 0; other < count; other++)
            if (list[other].rounds && list[other].first == r->first && list[other].published < r->published &&
                !(list[other].simulated < r->simulated)) {
                printf("%s should be quicker than %s\n", list[other].slug, r->slug);
                wrong++;
            }
    }
    printf("%s%d predicted rows are off by more than %g %%.\n", wrong ? "" : "All orders and directions are right. ",
           beyond, 100 * error_goal);
    return wrong;
}

int main(int argc, char **argv)
{
    struct options o = { .results = "results", .expected = "expected" };
    options_parse((const struct option_row *const[]){ rows, NULL }, &o,
                  "blog_machine: the blog's machine, simulated, against the numbers that the blog printed", argc, argv);
    char *path = memory_text("%s/blog.csv", o.expected);
    struct csv_table blog =
        csv_open(path, (const char *const[]){ "lab", "case", "slug", "role", "slowest_step_ms", NULL });
    free(path);
    struct row list[CASES_MOST];
    int count = list_rows(list, &blog, o.results), run = 0;
    for (int i = 0; i < count; i++)
        run += list[i].rounds > 0;
    if (run == 0)
        die(STATUS_USAGE, "--results %s holds no lab on the blog's machine; run one with --platform blog", o.results);
    show(list, count);
    int wrong = judge(list, count);
    write_table(list, count, o.results);
    csv_free(&blog);
    return wrong ? STATUS_WRONG : STATUS_RIGHT;
}
