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
 *     null        of a predicted case: the error of the null model (null_model.h), then that of its change
 *
 * and, over the predicted cases that were run, for steps and for changes: the mean and the worst of the absolute errors, and
 *
 *     skill       1 - mean error of the simulation / mean error of the null model; 0 is worth no more than a pencil
 *
 * A last block says what the fitted link makes of messages between two ranks (held_out_link.h).
 *
 * The same goes to RESULTS/platforms/blog/blog.csv; means, worst, skill and link stand above its names. Fitted cases agree because
 * they were fitted. That is consistency, no prediction, so no mean contains them.
 *
 * The limits were set before the machine was fitted. Predicted rows: within 10 % of the published ones (failure above 15 %),
 * changes within 20 %. Any two cases of a post: in the published order. Fitted rows: within 3 %. Mean and skill have no limit.
 *
 * Exit status: 0 within all limits, 1 not, 2 nothing to read. */
#include "base/csv.h"
#include "base/die.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/stats.h"
#include "held_out_link.h"
#include "null_model.h"
#include "options/options.h"
#include "published.h"

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
    const struct row *first; /* first row of the post */
    double published, simulated, least, most;
    double null;               /* milliseconds of the null model; NaN for a fitted row */
    int rounds;                /* 0: not run */
    bool is_fitted, has_texts; /* has_texts: of the post about sequences */
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
static int list_rows(struct row *list, const struct published *published, const char *results)
{
    const struct csv_table *blog = &published->steps;
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
        r.null = r.is_fitted ? (double)NAN : null_model_step(published, r.slug);
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

/* Return the error of a step; NaN if it was not run. */
static double error_of(const struct row *r)
{
    return r->rounds ? r->simulated / r->published - 1 : (double)NAN;
}

/* Return the error of the change; NaN for the first case of a post, or if either was not run. */
static double change_error(const struct row *r)
{
    const struct row *first = r->first;
    if (r == first || !r->rounds || !first->rounds)
        return (double)NAN;
    return (r->simulated - first->simulated) / (r->published - first->published) - 1;
}

static double null_error(const struct row *r)
{
    return r->null / r->published - 1;
}

/* Return the error of the change that the null model predicts; both first cases are fitted, so their guess is what is published. */
static double null_change_error(const struct row *r)
{
    const struct row *first = r->first;
    return r == first ? (double)NAN : (r->null - first->published) / (r->published - first->published) - 1;
}

/* --- mean, worst, skill ------------------------------------------------------------------------------------------ */

struct fidelity {
    int rows; /* predicted and run */
    double mean, worst, null_mean, null_worst, skill;
};

/* Summarise absolute errors by simulation and by null model over the same predicted rows. */
static struct fidelity fidelity_over(const struct row *list, int count, double (*error)(const struct row *),
                                     double (*error_by_null)(const struct row *))
{
    struct fidelity f = { 0 };
    double sum = 0, null_sum = 0;
    for (int i = 0; i < count; i++) {
        double simulated = fabs(error(&list[i])), null = fabs(error_by_null(&list[i]));
        if (list[i].is_fitted || isnan(simulated) || isnan(null))
            continue;
        f.rows++;
        sum += simulated;
        null_sum += null;
        f.worst = fmax(f.worst, simulated);
        f.null_worst = fmax(f.null_worst, null);
    }
    f.mean = sum / f.rows;
    f.null_mean = null_sum / f.rows;
    f.skill = 1 - f.mean / f.null_mean;
    return f;
}

static struct fidelity fidelity_of_steps(const struct row *list, int count)
{
    return fidelity_over(list, count, error_of, null_error);
}

static struct fidelity fidelity_of_changes(const struct row *list, int count)
{
    return fidelity_over(list, count, change_error, null_change_error);
}

/* --- the report -------------------------------------------------------------------------------------------------- */

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
    printf("%-20s %-9s %10s %10s %-18s %8s %8s %9s %8s\n", "case", "", "published", "simulated", " [least … most]",
           "error", "null", "change", "null");
    for (int i = 0; i < count; i++) {
        const struct row *r = &list[i];
        printf("%-20s %-9s %10.2f ", r->slug, r->is_fitted ? "fitted" : "predicted", r->published);
        if (!r->rounds) {
            puts("         - not run");
            continue;
        }
        char *band = memory_text(" [%.2f … %.2f]", r->least, r->most);
        printf("%10.2f %-20s", r->simulated, band); /* two bytes more than characters */
        free(band);
        put_percent(error_of(r), 9);
        put_percent(null_error(r), 9);
        put_percent(change_error(r), 10);
        put_percent(isnan(change_error(r)) ? (double)NAN : null_change_error(r), 9);
        putchar('\n');
    }
}

static void show_fidelity(const char *what, const struct fidelity *f)
{
    if (f->rows > 0)
        printf("%-8s of %d predicted row%s: mean error %.1f %%, worst %.1f %%; null model %.1f %%, worst %.1f %%; "
               "skill %.0f %%\n",
               what, f->rows, f->rows == 1 ? "" : "s", 100 * f->mean, 100 * f->worst, 100 * f->null_mean,
               100 * f->null_worst, 100 * f->skill);
}

/* Write a summary above the names of a table, as comments: "# step_skill: 0.498". */
static void write_fidelity(FILE *out, const char *of, const struct fidelity *f)
{
    fprintf(out, "# %s_rows: %d\n", of, f->rows);
    if (f->rows > 0)
        fprintf(out,
                "# %s_mean: %.6f\n# %s_worst: %.6f\n# %s_null_mean: %.6f\n# %s_null_worst: %.6f\n# %s_skill: %.6f\n",
                of, f->mean, of, f->worst, of, f->null_mean, of, f->null_worst, of, f->skill);
}

static void write_table(const struct row *list, int count, const struct held_out_link *links, const char *results)
{
    char *folder = memory_text("%s/platforms/blog", results);
    struct file file = file_begin(folder, "blog.csv");
    fputs("# simulated: the blog's machine (platforms/blog.xml) against what the posts printed\n", file.out);
    struct fidelity steps = fidelity_of_steps(list, count), changes = fidelity_of_changes(list, count);
    write_fidelity(file.out, "step", &steps);
    write_fidelity(file.out, "change", &changes);
    held_out_links_write(file.out, links);
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
            csv_ratio(&csv, "error", error_of(r));
            csv_ratio(&csv, "change_error", change_error(r));
            csv_ms(&csv, "null_ms", r->null / 1e3);
            csv_ratio(&csv, "null_error", null_error(r));
            csv_ratio(&csv, "null_change_error", null_change_error(r));
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
    struct published published = published_open(o.expected);
    struct row list[CASES_MOST];
    int count = list_rows(list, &published, o.results), run = 0;
    for (int i = 0; i < count; i++)
        run += list[i].rounds > 0;
    if (run == 0)
        die(STATUS_USAGE, "--results %s holds no lab on the blog's machine; run one with --platform blog", o.results);
    show(list, count);
    struct fidelity steps = fidelity_of_steps(list, count), changes = fidelity_of_changes(list, count);
    show_fidelity("Steps", &steps);
    show_fidelity("Changes", &changes);
    struct held_out_link links[HELD_OUT_LINKS];
    held_out_links(&published, links);
    held_out_links_show(links);
    int wrong = judge(list, count);
    write_table(list, count, links, o.results);
    published_close(&published);
    return wrong ? STATUS_WRONG : STATUS_RIGHT;
}
