/* scale: compares labs 01 and 04 at many ranks, simulated and by formula
 *
 *     scale --results results/scale
 *
 * Reads the results of run_all.sh --scale for every PLATFORM and N in that folder (either lab may be missing):
 *     PLATFORM/ranks-N/platforms/PLATFORM/04_small_work/summary.csv    the case weak_ws4
 *     PLATFORM/ranks-N/platforms/PLATFORM/01_straggler/summary.csv     baseline, skew_ws4 and chance
 * Prints the cost of a random straggler and writes scale.csv into the folder:
 *     platform       blank if the formula holds on any platform
 *     ranks, case
 *     kind           simulated | formula
 *     chance         p of the case chance
 *     steps          measured steps; blank for a formula
 *     step_ms        step of the slowest rank
 *     samples_per_s  rate of all ranks
 *     efficiency     X_n / (n X_1) of weak_ws4, with X = samples_per_s of the same kind and platform
 *     predicted_step_ms  prediction of the lab before this run, from its machine card
 *     extra_ms       milliseconds over the baseline of the same kind
 *     low_ms, high_ms  95 % interval of extra_ms in the case chance: Wilson's interval of the share of steps that were hit
 *
 * The formula for weak_ws4 and the baseline is the lab's own prediction. skew_ws4 and chance add to the baseline
 *     S                      one rank stalls for S in every step
 *     S x (1 - (1 - p)^n)    each of n ranks stalls in a step with probability p; all wait for the stalled rank
 * The last formula needs no platform and no run. It is tabulated up to 16384 ranks, and for a second p.
 *
 * Exit status: 0 simulation and formula agree; 1 they differ by more than the tolerance (chance: beyond an interval that is
 * missed once in a thousand runs), and a line names the first difference; 2 there is nothing to compare, or the runs have
 * different settings. */
#include "base/csv.h"
#include "base/die.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/stats.h"
#include "card/prediction.h"
#include "claims/expression.h"
#include "options/options.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS_BY_FORMULA = 16384, POINTS_MOST = 1000 };
/* All ranks enter the card's all-reduces together. In training on clusters of nodes even equal ranks wait for each other: a step
 * was up to 3.1 % longer than predicted (16 ranks of gpu_cluster_100g). */
static const double TOLERANCE = 0.05;
static const double SHOWN = 1.96, ALARM = 3.29; /* normal quantiles: 95 %, 99.9 % on both sides */

struct options {
    const char *results;
    double rare, tolerance;
};

#define AT(member) offsetof(struct options, member)
static const struct option_row option_rows[] = {
    { "--results", OPTION_TEXT, AT(results), 0, 0, "DIR", "folder that contains PLATFORM/ranks-N" },
    { "--rare", OPTION_NUMBER, AT(rare), 0, 1, "P", "a second probability, for the formula only" },
    { "--tolerance", OPTION_NUMBER, AT(tolerance), 0, 1, "X", "largest relative error of formulas" },
    { 0 },
};
#undef AT

/* Settings that must be the same in all runs. */
struct settings {
    double batch, stall_ms, chance;
};

struct point { /* one platform and world size */
    char *platform;
    int ranks;
    struct csv_table weak, straggler; /* no rows if the lab was not run */
    double extra_ms;                  /* case chance; NaN if not run */
    struct ratio share;               /* share of its steps that were hit */
};

struct scale {
    struct options options;
    struct settings settings;
    struct point *points; /* sorted by platform, then ranks */
    int count;
    struct csv csv;
    int compared, apart;
    char *first_apart; /* message for the first difference */
};

/* --- reading ------------------------------------------------------------------------------------------- */

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Return N for a folder named ranks-N; else 0. */
static int ranks_of_folder(const char *name)
{
    char *end = NULL;
    if (strncmp(name, "ranks-", 6) != 0)
        return 0;
    long ranks = strtol(name + 6, &end, 10);
    return *end == '\0' && ranks > 0 && ranks <= RANKS_BY_FORMULA ? (int)ranks : 0;
}

static struct csv_table read_summary(const struct scale *scale, const struct point *point, const char *lab)
{
    static const char *const columns[] = { "case",  "ranks",           "batch_size",    "global_batch_size",
                                           "steps", "slowest_step_ms", "samples_per_s", "predicted_step_ms",
                                           NULL };
    struct csv_table table = { 0 };
    char *path = memory_text("%s/%s/ranks-%d/platforms/%s/%s/summary.csv", scale->options.results, point->platform,
                             point->ranks, point->platform, lab);
    if (access(path, F_OK) == 0)
        table = csv_open(path, columns);
    for (int row = 0; row < table.rows; row++)
        if (csv_value(&table, row, "ranks") != point->ranks)
            die(STATUS_USAGE, "%s: %s ranks, but its folder says %d; run it again", path,
                csv_field(&table, row, "ranks"), point->ranks);
    free(path);
    return table;
}

static void add_points(struct scale *scale, const char *platform)
{
    char *path = memory_text("%s/%s", scale->options.results, platform);
    struct dirent **folders;
    int count = scandir(path, &folders, is_visible, NULL);
    for (int i = 0; i < count; i++) {
        int ranks = ranks_of_folder(folders[i]->d_name);
        if (ranks && scale->count == POINTS_MOST)
            die(STATUS_USAGE, "--results %s holds more than %d runs; remove some", scale->options.results, POINTS_MOST);
        if (ranks) {
            struct point *point = &scale->points[scale->count++];
            *point = (struct point){ .platform = memory_text("%s", platform), .ranks = ranks, .extra_ms = NAN };
            point->weak = read_summary(scale, point, "04_small_work");
            point->straggler = read_summary(scale, point, "01_straggler");
        }
        free(folders[i]);
    }
    if (count >= 0)
        free(folders);
    free(path);
}

static int compare_points(const void *left, const void *right)
{
    const struct point *a = left, *b = right;
    int order = strcmp(a->platform, b->platform);
    return order ? order : a->ranks - b->ranks;
}

/* Set *common if NaN; end the program if another point had a different value. */
static void require_same(const struct point *point, double *common, double value, const char *what)
{
    if (isnan(*common))
        *common = value;
    else if (*common != value)
        die(STATUS_USAGE, "%s, %d ranks: %s %g, but other runs have %g; remove old runs and run again", point->platform,
            point->ranks, what, value, *common);
}

static void read_settings(struct scale *scale)
{
    struct settings *common = &scale->settings;
    *common = (struct settings){ NAN, NAN, NAN };
    for (const struct point *p = scale->points; p < scale->points + scale->count; p++) {
        if (p->weak.rows)
            require_same(p, &common->batch, csv_value(&p->weak, 0, "batch_size"), "a batch of");
        if (p->straggler.rows) {
            require_same(p, &common->batch, csv_value(&p->straggler, 0, "batch_size"), "a batch of");
            require_same(p, &common->stall_ms, table_setting(&p->straggler, " --sleep-ms "), "--sleep-ms");
            require_same(p, &common->chance, table_setting(&p->straggler, " --chance "), "--chance");
        }
    }
}

static void open_points(struct scale *scale)
{
    struct dirent **platforms;
    int count = scandir(scale->options.results, &platforms, is_visible, alphasort);
    if (count < 0)
        die(STATUS_USAGE, "--results %s cannot be read; run_all.sh --scale makes it", scale->options.results);
    scale->points = memory_new(POINTS_MOST, sizeof *scale->points);
    for (int i = 0; i < count; i++) {
        add_points(scale, platforms[i]->d_name);
        free(platforms[i]);
    }
    free(platforms);
    qsort(scale->points, (size_t)scale->count, sizeof *scale->points, compare_points);
    read_settings(scale);
}

/* --- rows ---------------------------------------------------------------------------------------------- */

struct row {
    const char *platform, *name;
    int ranks;
    bool is_simulated;
    double chance, steps, step_ms, samples_per_s, efficiency, predicted_step_ms, extra_ms, low_ms, high_ms;
};

static const struct row blank = { "", "", 0, false, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN };

static void write_row(struct csv *csv, const struct row *row)
{
    do {
        csv_text(csv, "platform", row->platform);
        csv_integer(csv, "ranks", row->ranks);
        csv_text(csv, "case", row->name);
        csv_text(csv, "kind", row->is_simulated ? "simulated" : "formula");
        csv_number(csv, "chance", row->chance);
        csv_number(csv, "steps", row->steps);
        csv_ms(csv, "step_ms", row->step_ms / 1e3);
        csv_ratio(csv, "samples_per_s", row->samples_per_s);
        csv_ratio(csv, "efficiency", row->efficiency);
        csv_ms(csv, "predicted_step_ms", row->predicted_step_ms / 1e3);
        csv_ms(csv, "extra_ms", row->extra_ms / 1e3);
        csv_ms(csv, "low_ms", row->low_ms / 1e3);
        csv_ms(csv, "high_ms", row->high_ms / 1e3);
    } while (csv_end_row(csv));
}

/* Count a comparison of the simulated interval `low` to `high` with the formula; keep the message of the first difference. */
static void compare(struct scale *scale, const struct point *point, const char *name, double low, double high,
                    double formula)
{
    double slack = scale->options.tolerance * formula;
    scale->compared++;
    if (low - slack <= formula && formula <= high + slack)
        return;
    if (scale->apart++ == 0)
        scale->first_apart = low < high ? memory_text("%s of %d ranks on %s: %.3f to %.3f ms extra simulated, %.3f by "
                                                      "formula",
                                                      name, point->ranks, point->platform, low, high, formula)
                                        : memory_text("%s of %d ranks on %s: %.3f ms simulated, %.3f by formula", name,
                                                      point->ranks, point->platform, low, formula);
}

/* Return the simulated row of a case; all NaN if not run. */
static struct row simulated(const struct point *point, const struct csv_table *table, const char *name)
{
    int at = csv_find(table, "case", name);
    struct row row = blank;
    row.platform = point->platform;
    row.name = name;
    row.ranks = point->ranks;
    row.is_simulated = true;
    row.steps = csv_value(table, at, "steps");
    row.step_ms = csv_value(table, at, "slowest_step_ms");
    row.samples_per_s = csv_value(table, at, "samples_per_s");
    row.predicted_step_ms = csv_value(table, at, "predicted_step_ms");
    return row;
}

/* Return the same row by formula. */
static struct row predicted(const struct row *seen, double step_ms)
{
    struct row row = blank;
    row.platform = seen->platform;
    row.name = seen->name;
    row.ranks = seen->ranks;
    row.chance = seen->chance;
    row.step_ms = step_ms;
    row.samples_per_s = seen->samples_per_s * seen->step_ms / step_ms; /* same global batch */
    return row;
}

static void write_both(struct scale *scale, const struct row *seen, const struct row *formula)
{
    write_row(&scale->csv, seen);
    write_row(&scale->csv, formula);
}

/* Give samples_per_s of a single rank on this platform, simulated and by formula; NaN if not run. */
static void rate_of_one_rank(const struct scale *scale, const char *platform, double *seen, double *formula)
{
    *seen = *formula = NAN;
    for (const struct point *p = scale->points; p < scale->points + scale->count; p++) {
        if (p->ranks == 1 && p->weak.rows && strcmp(p->platform, platform) == 0) {
            struct row row = simulated(p, &p->weak, "weak_ws4");
            *seen = row.samples_per_s;
            *formula = predicted(&row, row.predicted_step_ms).samples_per_s;
        }
    }
}

static void weak_rows(struct scale *scale, const struct point *point)
{
    struct row seen = simulated(point, &point->weak, "weak_ws4");
    if (isnan(seen.step_ms))
        return;
    double alone, alone_by_formula;
    rate_of_one_rank(scale, point->platform, &alone, &alone_by_formula);
    struct row formula = predicted(&seen, seen.predicted_step_ms);
    seen.efficiency = seen.samples_per_s / (point->ranks * alone);
    formula.efficiency = formula.samples_per_s / (point->ranks * alone_by_formula);
    compare(scale, point, "weak_ws4", seen.step_ms, seen.step_ms, formula.step_ms);
    write_both(scale, &seen, &formula);
}

/* Compare and write a case that adds a stall to the baseline. For a random stall, compare with the interval of the share of
 * steps hit. */
static void extra_rows(struct scale *scale, struct point *point, const struct row *baseline, struct row *seen,
                       double formula_share)
{
    double stall_ms = scale->settings.stall_ms;
    if (isnan(seen->step_ms))
        return;
    seen->extra_ms = seen->step_ms - baseline->step_ms;
    double low = seen->extra_ms, high = low;
    if (!isnan(seen->chance)) {
        double steps = seen->steps, hits = fmin(fmax(seen->extra_ms / stall_ms * steps, 0), steps);
        double beyond = seen->extra_ms - stall_ms * hits / steps; /* milliseconds that no share of hits explains */
        struct ratio open = stats_share(hits, steps, ALARM);
        point->share = stats_share(hits, steps, SHOWN);
        point->extra_ms = seen->extra_ms;
        seen->low_ms = stall_ms * point->share.low;
        seen->high_ms = stall_ms * point->share.high;
        if (fabs(beyond) <= scale->options.tolerance * stall_ms) {
            low = stall_ms * open.low;
            high = stall_ms * open.high;
        }
    }
    struct row formula = predicted(seen, baseline->predicted_step_ms + stall_ms * formula_share);
    formula.extra_ms = stall_ms * formula_share;
    compare(scale, point, seen->name, low, high, formula.extra_ms);
    write_both(scale, seen, &formula);
}

static void straggler_rows(struct scale *scale, struct point *point)
{
    struct row baseline = simulated(point, &point->straggler, "baseline");
    if (isnan(baseline.step_ms))
        return;
    struct row formula = predicted(&baseline, baseline.predicted_step_ms);
    compare(scale, point, "baseline", baseline.step_ms, baseline.step_ms, formula.step_ms);
    write_both(scale, &baseline, &formula);

    struct row fixed = simulated(point, &point->straggler, "skew_ws4");
    extra_rows(scale, point, &baseline, &fixed, 1);
    struct row chance = simulated(point, &point->straggler, "chance");
    chance.chance = scale->settings.chance;
    extra_rows(scale, point, &baseline, &chance, predict_any(chance.chance, point->ranks));
}

/* Write the formula for a random stall; no platform needed. */
static void formula_rows(struct scale *scale, double chance)
{
    for (int ranks = 1; ranks <= RANKS_BY_FORMULA; ranks *= 2) {
        struct row row = blank;
        row.name = "chance";
        row.ranks = ranks;
        row.chance = chance;
        row.extra_ms = scale->settings.stall_ms * predict_any(chance, ranks);
        write_row(&scale->csv, &row);
    }
}

/* --- the table ----------------------------------------------------------------------------------------- */

enum { COLUMN = 26 };

/* Return the index of the next platform's first point after `at`. */
static int next_platform(const struct scale *scale, int at)
{
    int next = at;
    while (next < scale->count && strcmp(scale->points[next].platform, scale->points[at].platform) == 0)
        next++;
    return next;
}

static void show_cell(const struct scale *scale, int first, int ranks)
{
    char text[COLUMN + 1] = "";
    for (const struct point *p = scale->points + first; p < scale->points + next_platform(scale, first); p++)
        if (p->ranks == ranks && !isnan(p->extra_ms))
            snprintf(text, sizeof text, "%.3f [%.3f %.3f]", p->extra_ms, scale->settings.stall_ms * p->share.low,
                     scale->settings.stall_ms * p->share.high);
    printf("%*s", COLUMN, text);
}

/* Return the next world size after `ranks` that is a power of two or was simulated. */
static int next_ranks(const struct scale *scale, int ranks)
{
    int next = 1;
    while (next <= ranks)
        next *= 2;
    for (const struct point *p = scale->points; p < scale->points + scale->count; p++)
        if (p->ranks > ranks && p->ranks < next)
            next = p->ranks;
    return next;
}

static void show(const struct scale *scale)
{
    const struct settings *s = &scale->settings;
    printf("Each rank stalls %g ms with probability %g in every step. What that adds to the mean step, in ms:\n\n",
           s->stall_ms, s->chance);
    printf("%8s", "");
    for (int first = 0; first < scale->count; first = next_platform(scale, first))
        printf("%*s", COLUMN, scale->points[first].platform);
    printf("\n%8s", "ranks");
    for (int first = 0; first < scale->count; first = next_platform(scale, first))
        printf("%*s", COLUMN, "simulated [95 %]");
    printf("%12s%12s %g\n", "formula", "with", scale->options.rare);
    for (int ranks = 1; ranks <= RANKS_BY_FORMULA; ranks = next_ranks(scale, ranks)) {
        printf("%8d", ranks);
        for (int first = 0; first < scale->count; first = next_platform(scale, first))
            show_cell(scale, first, ranks);
        printf("%12.3f%12.3f\n", s->stall_ms * predict_any(s->chance, ranks),
               s->stall_ms * predict_any(scale->options.rare, ranks));
    }
}

/* --- main ---------------------------------------------------------------------------------------------- */

static void write_table(struct scale *scale)
{
    struct file file = file_begin(scale->options.results, "scale.csv");
    scale->csv = (struct csv){ .out = file.out };
    fprintf(file.out,
            "# lockstep: %s\n# simulated: world sizes side by side; formula: tools/platforms/scale.c\n# batch: %g\n# "
            "stall_ms: %g\n"
            "# chance: %g\n# rare: %g\n",
            LOCKSTEP_VERSION, scale->settings.batch, scale->settings.stall_ms, scale->settings.chance,
            scale->options.rare);
    for (struct point *p = scale->points; p < scale->points + scale->count; p++) {
        weak_rows(scale, p);
        straggler_rows(scale, p);
    }
    formula_rows(scale, scale->settings.chance);
    formula_rows(scale, scale->options.rare);
    file_commit(&file);
}

int main(int argc, char **argv)
{
    struct scale scale = { .options = { .results = "results/scale", .rare = 0.001, .tolerance = TOLERANCE } };
    const struct option_row *const tables[] = { option_rows, NULL };
    options_parse(tables, &scale.options, "scale: many ranks, simulated and by formula", argc, argv);
    open_points(&scale);
    if (isnan(scale.settings.chance) || !(scale.settings.stall_ms > 0))
        die(STATUS_USAGE,
            "--results %s holds no run of 01_straggler with --sleep-ms and --chance in its command; run_all.sh --scale "
            "makes some",
            scale.options.results);
    write_table(&scale);
    show(&scale);
    printf("\n%d comparisons of simulation and formula, %d apart. All rows: %s/scale.csv\n", scale.compared,
           scale.apart, scale.options.results);
    fflush(stdout);
    if (scale.apart)
        die(STATUS_WRONG, "%s", scale.first_apart);
    for (struct point *p = scale.points; p < scale.points + scale.count; p++) {
        csv_free(&p->weak);
        csv_free(&p->straggler);
        free(p->platform);
    }
    free(scale.points);
    return STATUS_RIGHT;
}
