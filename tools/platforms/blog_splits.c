/* blog_splits: fits the machine of the two blog posts to every choice of rows that determines it
 *
 *     build/bin/blog_splits > platforms/blog_splits.csv
 *
 * platforms/blog.xml is fitted to six published rows and judged by the other six. Other rows could have been fitted, and the
 * errors would be others. Here every choice is tried:
 *
 *     weak_ws1, strong_ws1                       always: nothing else tells what a rank costs alone
 *     link   comm_ws4, weak_ws2 or strong_ws2    the rows in which the transfer decides
 *     bus    weak_ws4, skew_ws4 or barrier_ws4   the rows in which four ranks share the memory bus
 *     texts  two of four rows                    two costs
 *
 * That is 3 x 3 x 6 = 54 splits of twelve rows into six fitted and six held out. A split is dropped if
 *
 *     unmet             no machine meets its rows: the bus would feed less than one rank or more than four, or a cost be negative
 *     ill-conditioned   1 % more of one fitted step moves the link, the bus, or a cost of texts by more than 10 %. A published step
 *                       is a mean of ten that scatter by 3 %, so 1 % of it is unknown. This limit was set before any split was
 *                       fitted.
 *
 * A row per split: the fitted rows, whether it is that of platforms/blog.xml (`ours`), verdict, parameters, `amplification` (the
 * largest move of a parameter over that of a step), mean and worst absolute error of the held-out steps and of their changes over
 * the first row of the post (without those first rows), then the error of each held-out step. Lines above the names hold the
 * distribution over kept splits: of all held-out errors, and of the splits' means. Steps come from the formula (machine_fit.h).
 *
 * The table goes to standard output, the distribution in words to standard error. */
#include "base/csv.h"
#include "base/die.h"
#include "base/memory.h"
#include "base/stats.h"
#include "machine_fit.h"
#include "options/options.h"
#include "published.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHOICES = 3, TEXTS = 4, PAIRS = 6, SPLITS = CHOICES * CHOICES * PAIRS, ROWS = 12, FITTED = 6 };
static const double more = 1.01, amplification_most = 10;

static const char *const rows[ROWS] = { "weak_ws4",
                                        "skew_ws4",
                                        "barrier_ws4",
                                        "comm_ws4",
                                        "weak_ws1",
                                        "weak_ws2",
                                        "strong_ws1",
                                        "strong_ws2",
                                        "fixed_sample_ws4",
                                        "variable_sample_ws4",
                                        "variable_bucket_ws4",
                                        "variable_token_ws4" };
static const char *const link_rows[CHOICES] = { "comm_ws4", "weak_ws2", "strong_ws2" };
static const char *const bus_rows[CHOICES] = { "weak_ws4", "skew_ws4", "barrier_ws4" };
static const char *const *const text_rows = rows + ROWS - TEXTS;

struct options {
    const char *expected;
};
static const struct option_row option_rows[] = {
    { "--expected", OPTION_TEXT, offsetof(struct options, expected), 0, 0, "DIR", "folder of the published numbers" },
    { 0 },
};

enum verdict { KEPT, UNMET, ILL_CONDITIONED };
static const char *const verdict_words[] = { "kept", "unmet", "ill-conditioned" };

struct split {
    const char *fitted[FITTED]; /* of one rank, two; link; bus; texts, two */
    struct machine machine;
    enum verdict verdict;
    double amplification;
    double error[ROWS], change_error[ROWS]; /* NaN unless held out */
};
enum { LINK = 2, BUS = 3, TEXT = 4 }; /* places in `fitted` */

/* --- one split ---------------------------------------------------------------------------------------------------- */

/* The machine that meets rows of the MLP: as published, and with 1 % more of the link's row or of the bus's. */
enum { PUBLISHED, MORE_LINK, MORE_BUS, VERSIONS };
struct version {
    struct machine machine;
    bool is_met;
};

static struct fitted_row row_of(const struct published *p, const char *slug, double factor)
{
    return (struct fitted_row){ slug, factor * published_step(p, slug) };
}

static void fit_versions(const struct machine_fit *fit, const struct published *p, const char *link, const char *bus,
                         struct version *versions)
{
    for (int i = 0; i < VERSIONS; i++) {
        versions[i].machine = machine_fit_alone(fit);
        versions[i].is_met = machine_fit_shared(fit, &versions[i].machine, row_of(p, link, i == MORE_LINK ? more : 1),
                                                row_of(p, bus, i == MORE_BUS ? more : 1));
    }
}

/* Return the largest relative move of a fitted parameter. */
static double move_of(const struct machine *a, const struct machine *b)
{
    double link = fabs(a->link / b->link - 1), bus = fabs(a->bus / b->bus - 1);
    double fixed = fabs(a->text_fixed / b->text_fixed - 1), per_pair = fabs(a->per_pair / b->per_pair - 1);
    return fmax(fmax(link, bus), fmax(fixed, per_pair));
}

/* Fit the texts of a split to this version, with 1 % more of text row `which` (neither: -1). Return false if unmet. */
static bool fit_texts(const struct machine_fit *fit, const struct published *p, const struct split *s,
                      const struct version *version, int which, struct machine *m)
{
    *m = version->machine;
    struct fitted_row texts[2];
    for (int i = 0; i < 2; i++)
        texts[i] = row_of(p, s->fitted[TEXT + i], i == which ? more : 1);
    return version->is_met && machine_fit_texts(fit, m, texts);
}

static void fit_split(const struct machine_fit *fit, const struct published *p, const struct version *versions,
                      struct split *s)
{
    if (!fit_texts(fit, p, s, &versions[PUBLISHED], -1, &s->machine)) {
        s->verdict = UNMET;
        return;
    }
    for (int each = 0; each < 4; each++) { /* link, bus and the two texts, each with 1 % more */
        const struct version *version = &versions[each < 2 ? MORE_LINK + each : PUBLISHED];
        struct machine m;
        bool is_met = fit_texts(fit, p, s, version, each - 2, &m);
        s->amplification = fmax(s->amplification, is_met ? move_of(&m, &s->machine) / (more - 1) : INFINITY);
    }
    s->verdict = s->amplification <= amplification_most ? KEPT : ILL_CONDITIONED;
}

static bool is_fitted(const struct split *s, const char *slug)
{
    for (int i = 0; i < FITTED; i++)
        if (strcmp(s->fitted[i], slug) == 0)
            return true;
    return false;
}

/* Fill in the errors of the held-out rows. Fitted rows agree by construction and have none. */
static void judge_split(const struct machine_fit *fit, const struct published *p, struct split *s)
{
    double modelled[ROWS];
    for (int i = 0; i < ROWS; i++)
        modelled[i] = machine_fit_step(fit, &s->machine, rows[i]);
    for (int i = 0; i < ROWS; i++) {
        int first = i < ROWS - TEXTS ? 0 : ROWS - TEXTS;
        double published = published_step(p, rows[i]), change = published - published_step(p, rows[first]);
        if (is_fitted(s, rows[i]))
            continue;
        s->error[i] = modelled[i] / published - 1;
        if (i != first)
            s->change_error[i] = (modelled[i] - modelled[first]) / change - 1;
    }
}

/* Fill in all splits; ours is the first. */
static void fit_all(const struct machine_fit *fit, const struct published *p, struct split *splits)
{
    struct split *s = splits;
    for (int link = 0; link < CHOICES; link++)
        for (int bus = 0; bus < CHOICES; bus++) {
            struct version versions[VERSIONS];
            fit_versions(fit, p, link_rows[link], bus_rows[bus], versions);
            for (int one = 0; one < TEXTS; one++)
                for (int two = one + 1; two < TEXTS; two++, s++) {
                    *s = (struct split){ .fitted = { "weak_ws1", "strong_ws1", link_rows[link], bus_rows[bus],
                                                     text_rows[one], text_rows[two] } };
                    for (int i = 0; i < ROWS; i++)
                        s->error[i] = s->change_error[i] = (double)NAN;
                    fit_split(fit, p, versions, s);
                    if (s->verdict == KEPT)
                        judge_split(fit, p, s);
                }
        }
}

/* --- the distribution --------------------------------------------------------------------------------------------- */

/* Write the absolute values that are numbers to `sizes`; return their count. */
static int sizes_of(const double *errors, double *sizes)
{
    int count = 0;
    for (int i = 0; i < ROWS; i++)
        if (!isnan(errors[i]))
            sizes[count++] = fabs(errors[i]);
    return count;
}

static double mean_size(const double *errors)
{
    double sizes[ROWS];
    int count = sizes_of(errors, sizes);
    return count ? stats_mean(sizes, count) : (double)NAN;
}

static double worst_size(const double *errors)
{
    double sizes[ROWS];
    int count = sizes_of(errors, sizes);
    return stats_quantile(sizes, count, 1);
}

/* Distribution over kept splits of all held-out errors, and of the means of splits. */
struct distribution {
    int count, worse; /* errors; splits whose mean is larger than ours */
    double all[SPLITS * ROWS], means[SPLITS];
};

static void distribute(const struct split *splits, bool of_changes, struct distribution *d)
{
    int kept = 0;
    double ours = mean_size(of_changes ? splits[0].change_error : splits[0].error);
    for (int i = 0; i < SPLITS; i++) {
        if (splits[i].verdict != KEPT)
            continue;
        const double *errors = of_changes ? splits[i].change_error : splits[i].error;
        d->count += sizes_of(errors, d->all + d->count);
        d->means[kept] = mean_size(errors);
        d->worse += d->means[kept++] > ours;
    }
}

static int count_of(const struct split *splits, enum verdict verdict)
{
    int count = 0;
    for (int i = 0; i < SPLITS; i++)
        count += splits[i].verdict == verdict;
    return count;
}

/* Write median, quartiles and worst above the names, and the same in words to standard error. */
static void write_distribution(const struct split *splits, bool of_changes)
{
    const double part[] = { 0.25, 0.5, 0.75, 1 };
    const char *const name[] = { "lower_quartile", "median", "upper_quartile", "worst" };
    const char *of = of_changes ? "change" : "step";
    struct distribution *d = memory_new(1, sizeof *d);
    distribute(splits, of_changes, d);
    int kept = count_of(splits, KEPT);
    double all[4], means[4];
    printf("# %s_errors: %d\n", of, d->count);
    for (int i = 0; i < 4; i++)
        printf("# %s_%s: %.4f\n", of, name[i], all[i] = stats_quantile(d->all, d->count, part[i]));
    for (int i = 0; i < 4; i++)
        printf("# %s_mean_%s: %.4f\n", of, name[i], means[i] = stats_quantile(d->means, kept, part[i]));
    printf("# %s_splits_worse_than_ours: %d\n", of, d->worse);
    fprintf(stderr, "%-7s %3d held-out errors: median %.1f %%, quartiles %.1f and %.1f %%, worst %.1f %%\n", of,
            d->count, 100 * all[1], 100 * all[0], 100 * all[2], 100 * all[3]);
    fprintf(stderr,
            "        mean of a split: median %.1f %%, quartiles %.1f and %.1f %%, worst %.1f %%; ours %.1f %%, %d of "
            "%d are worse\n",
            100 * means[1], 100 * means[0], 100 * means[2], 100 * means[3], 100 * d->means[0], d->worse, kept);
    free(d);
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

/* Write a number with few decimals, which the last bits of a processor do not change. Blank for NaN and infinity. */
static void put_rounded(struct csv *csv, const char *name, double value, double decimals)
{
    double scale = pow(10, decimals), rounded = round(value * scale) / scale + 0.0; /* + 0.0: no -0 */
    csv_number(csv, name, isfinite(value) ? rounded : (double)NAN);
}

static void put_split(struct csv *csv, int number, const struct split *s)
{
    bool is_solved = s->verdict != UNMET;
    const struct machine *m = &s->machine;
    csv_integer(csv, "split", number);
    csv_text(csv, "link_row", s->fitted[LINK]);
    csv_text(csv, "bus_row", s->fitted[BUS]);
    csv_text(csv, "text_row", s->fitted[TEXT]);
    csv_text(csv, "other_text_row", s->fitted[TEXT + 1]);
    csv_integer(csv, "ours", number == 1);
    csv_text(csv, "verdict", verdict_words[s->verdict]);
    put_rounded(csv, "amplification", is_solved ? s->amplification : (double)NAN, 2);
    put_rounded(csv, "link_gb_s", is_solved ? m->link / 1e6 : (double)NAN, 4);
    put_rounded(csv, "bus_ranks", is_solved ? m->bus : (double)NAN, 4);
    put_rounded(csv, "text_fixed_ms", is_solved ? m->text_fixed + m->text_update : (double)NAN, 4);
    put_rounded(csv, "token_length_ns", is_solved ? 1e6 * m->per_pair : (double)NAN, 4);
    put_rounded(csv, "step_mean", mean_size(s->error), 4);
    put_rounded(csv, "step_worst", worst_size(s->error), 4);
    put_rounded(csv, "change_mean", mean_size(s->change_error), 4);
    put_rounded(csv, "change_worst", worst_size(s->change_error), 4);
    for (int i = 0; i < ROWS; i++) {
        char *name = memory_text("error_%s", rows[i]);
        put_rounded(csv, name, s->error[i], 4);
        free(name);
    }
}

int main(int argc, char **argv)
{
    struct options o = { .expected = "expected" };
    options_parse((const struct option_row *const[]){ option_rows, NULL }, &o,
                  "blog_splits: the machine of the blog posts, fitted to every choice of rows", argc, argv);
    struct published p = published_open(o.expected);
    struct machine_fit *fit = machine_fit_open(&p);
    struct split *splits = memory_new(SPLITS, sizeof *splits);
    fit_all(fit, &p, splits);
    printf("# The machine of the posts fitted to every choice of six rows that determines it, and its errors on the "
           "other six.\n"
           "# Written by build/bin/blog_splits; tools/platforms/blog_splits.c explains choices, verdicts and columns.\n"
           "# splits: %d\n# kept: %d\n# unmet: %d\n# ill_conditioned: %d\n",
           SPLITS, count_of(splits, KEPT), count_of(splits, UNMET), count_of(splits, ILL_CONDITIONED));
    fprintf(stderr, "%d splits: %d kept, %d unmet, %d ill-conditioned\n", SPLITS, count_of(splits, KEPT),
            count_of(splits, UNMET), count_of(splits, ILL_CONDITIONED));
    write_distribution(splits, false);
    write_distribution(splits, true);
    struct csv csv = { .out = stdout };
    for (int i = 0; i < SPLITS; i++)
        do
            put_split(&csv, i + 1, &splits[i]);
        while (csv_end_row(&csv));
    free(splits);
    machine_fit_close(fit);
    published_close(&p);
    return STATUS_RIGHT;
}
