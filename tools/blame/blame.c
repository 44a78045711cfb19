/* blame: finds which rank the others waited for, in the spans of any job.
 *
 *     blame spans.csv
 *     blame rank0.json.gz rank1.json.gz ...       or the folder that has them
 *
 * Reads the time spans of all ranks of a job: a spans.csv, of which notebooks-md/your_own_job.md has the format and ten lines that
 * write it, and a lab's own; or the Chrome traces of torch.profiler, one per rank (trace_case.h). Prints what a lab prints about its own run: the split of every collective into wait and transfer, the
 * waiting that each rank caused, the blamed rank if there is one, and the step time had all ranks been as fast as the median
 * rank. Writes below --out:
 *     summary.csv, ranks.csv, rounds.csv, lanes.csv, trace.json   as in a lab's folder
 *     timeline, breakdown, step_time (svg, png), charts.csv       if gnuplot exists and no rank left a collective early
 *
 * Several cases in a file are compared with one of them: --baseline, else the case named `baseline`, else the first.
 *
 * Exit status: 0 done; 1 a rank left a collective before the last rank arrived; 2 the file is malformed: one line names file,
 * line, reason and cure. */
#include "base/die.h"
#include "base/files.h"
#include "base/folders.h"
#include "base/memory.h"
#include "base/number.h"
#include "hint.h"
#include "launch/job.h"
#include "options/options.h"
#include "partial.h"
#include "report/lanes.h"
#include "report/rounds_table.h"
#include "report/run_report.h"
#include "report/terminal_tables.h"
#include "report/trace.h"
#include "sources.h"

#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct options {
    const char *spans, *out, *baseline, *shown;
    double clock_error_ms;
    int skip_first_steps;
    bool hides_arrivals;
    struct trace_options trace;
};

#define AT(member) offsetof(struct options, member)
static const struct option_row option_rows[] = {
    { "--spans", OPTION_TEXT, AT(spans), 0, 0, "FILE",
      "spans of all ranks, or a folder of traces; first words without a flag are the same" },
    { "--out", OPTION_TEXT, AT(out), 0, 0, "DIR", "folder of tables, trace and charts" },
    { "--baseline", OPTION_TEXT, AT(baseline), 0, 0, "CASE",
      "case to compare with; else `baseline`, or the first case" },
    { "--case", OPTION_TEXT, AT(shown), 0, 0, "CASE", "case to explain; else the case with the longest waits" },
    { "--skip-first-steps", OPTION_INTEGER, AT(skip_first_steps), -1, 1e9, "N",
      "warm-up steps; -1: by the column `measured`, or 2 of at least 4" },
    { "--clock-error-ms", OPTION_NUMBER, AT(clock_error_ms), -1, 1e6, "MS",
      "by how much the clocks of two ranks may differ; -1: 0, or estimated from traces" },
    { "--hides-arrivals", OPTION_SWITCH, AT(hides_arrivals), 0, 0, "",
      "spans do not show when a rank arrived: no wait, no blame" },
    { "--step-name", OPTION_TEXT, AT(trace.step_name), 0, 0, "NAME",
      "of traces: the annotation around a step; else ProfilerStep" },
    { "--partial", OPTION_SWITCH, AT(trace.is_partial), 0, 0, "", "of traces: some ranks are missing" },
    { 0 },
};
#undef AT

/* Origin of the spans, from the comments at the head of the file. */
struct origin {
    char *head;
    char *platform; /* simulated machine, else NULL */
};

/* --- the report ------------------------------------------------------------------------------------------------- */

static struct origin origin_of(const struct spans_file *file)
{
    static const char key[] = "platform ";
    struct origin origin = { .head = spans_file_head(file) };
    char *simulated = csv_comment(&file->table, "simulated", 0);
    if (simulated && strncmp(simulated, key, strlen(key)) == 0)
        origin.platform = memory_text("%.*s", (int)strcspn(simulated + strlen(key), ","), simulated + strlen(key));
    free(simulated);
    return origin;
}

static int index_of_case(const struct spans_file *file, const char *flag, const char *name)
{
    for (int i = 0; i < file->count; i++)
        if (strcmp(file->cases[i].name, name) == 0)
            return i;
    if (flag)
        die(STATUS_USAGE, "%s names no case of %s: '%s'; the first case is '%s'", flag, file->path, name,
            file->cases[0].name);
    return 0;
}

/* Return how many steps in a row count once; 0: as in labs. A profiler records few steps, so of a short trace each step counts:
 * what disturbs a rank for all of them then looks like the rank's own fault. */
static int stretch_of(const struct spans_file *file)
{
    enum { STRETCHES = 8, STRETCH = 4 };
    int steps = file->rank_numbers ? file->cases[0].blocks[0].timeline.steps : 0;
    return steps == 0 ? 0 : steps < 2 * STRETCHES ? 1 : steps < STRETCH * STRETCHES ? steps / STRETCHES : STRETCH;
}

static struct outcome outcome_of(const struct spans_case *of, bool is_simulated, int stretch)
{
    static const struct prediction none = { .data = NAN, .local = NAN, .host = NAN, .wait = NAN, .transfer = NAN };
    struct outcome o = { .name = of->name, .device = "", .prediction = none, .guess = NAN };
    o.run = (struct run){ .ranks = of->ranks, .cycle = of->blocks[0].every };
    o.picture = of->blocks[0].timeline;
    case_stats_open(&o.stats, &o.run, is_simulated);
    if (stretch > 0)
        o.stats.stretch = stretch;
    for (int i = 0; i < of->count; i++)
        case_stats_add(&o.stats, &of->blocks[i].timeline, NULL);
    o.idea = memory_text("%d step%s of %d rank%s", o.stats.steps, o.stats.steps == 1 ? "" : "s", of->ranks,
                         of->ranks == 1 ? "" : "s");
    return o;
}

static struct report report_of(const struct spans_file *file, const struct options *options,
                               const struct origin *origin)
{
    struct report r = { .lab = "blame",
                        .folder = options->out,
                        .backend = "",
                        .platform = origin->platform ? origin->platform : "",
                        .trains_on = "rank",
                        .is_simulated = origin->platform,
                        .has_only_spans = true,
                        .has_intervals = true,
                        .cases = file->count };
    r.preamble = memory_text("# lockstep: %s\n# spans: %s\n%s", LOCKSTEP_VERSION, file->path, origin->head);
    r.outcomes = memory_new((size_t)r.cases, sizeof *r.outcomes);
    int baseline = index_of_case(file, options->baseline ? "--baseline" : NULL,
                                 options->baseline ? options->baseline : "baseline");
    r.outcomes[0] = outcome_of(&file->cases[baseline], r.is_simulated, stretch_of(file));
    for (int i = 0, next = 1; i < file->count; i++)
        if (i != baseline)
            r.outcomes[next++] = outcome_of(&file->cases[i], r.is_simulated, stretch_of(file));
    for (int i = 0; i < r.cases; i++) {
        struct outcome *o = &r.outcomes[i];
        o->summary = case_stats_summarise(&o->stats, r.cases > 1 ? &r.outcomes[0].stats : NULL);
        r.ranks = o->run.ranks > r.ranks ? o->run.ranks : r.ranks;
        r.has_intervals &= o->stats.rounds > 2;
    }
    return r;
}

static void release(struct report *r)
{
    for (int i = 0; i < r->cases; i++) {
        case_stats_close(&r->outcomes[i].stats);
        free((void *)r->outcomes[i].idea);
    }
    free(r->outcomes);
    free((void *)r->preamble);
}

/* Return the case to explain: `name`, else the case other than the baseline whose ranks wait longest. */
static const struct outcome *choose_shown(const struct report *r, const char *name)
{
    if (name)
        return report_find_case(r, name);
    const struct outcome *shown = &r->outcomes[r->cases > 1];
    for (int i = 1; i < r->cases; i++)
        if (r->outcomes[i].summary.mean.exposed - fmax(0, r->outcomes[i].summary.mean.transfer) >
            shown->summary.mean.exposed - fmax(0, shown->summary.mean.transfer))
            shown = &r->outcomes[i];
    return shown;
}

/* --- printing ---------------------------------------------------------------------------------------------------- */

static void print_summary(const struct report *r, const struct spans_file *file)
{
    const struct outcome *first = &r->outcomes[0];
    const struct timeline *t = &first->picture;
    printf("%s: %d rank%s, %d case%s; of %s %d step%s measured, from step %d on, in %d round%s.\n", file->path,
           r->ranks, r->ranks == 1 ? "" : "s", r->cases, r->cases == 1 ? "" : "s", first->name, first->stats.steps,
           first->stats.steps == 1 ? "" : "s", t->first_step, first->stats.rounds, first->stats.rounds == 1 ? "" : "s");
    if (first->stats.every > 1)
        printf("The steps repeat in cycles of %d.\n", first->stats.every);
    if (t->clock_error > 0)
        printf("Clocks may differ by %.3g ms: shorter waits count as transfer.\n", 1e3 * t->clock_error);
    if (file->missing_ranks > 0)
        printf("%d of %d ranks have no trace here, so waits are lower bounds.\n", file->missing_ranks,
               file->missing_ranks + r->ranks);
    if (t->hides_arrivals)
        printf("The spans do not show when a rank arrived, so wait and transfer are n/a.\n");
}

/* `why_withdrawn`: why no rank is named; or NULL */
static void print_report(const struct report *r, const struct spans_file *file, const struct options *options,
                         const char *why_withdrawn)
{
    const struct outcome *shown = choose_shown(r, options->shown);
    const struct terminal terminal = job_terminal();
    const char *names[] = { r->outcomes[0].name, shown == r->outcomes ? NULL : shown->name, NULL };
    print_summary(r, file);
    lanes_draw(stdout, r, names, terminal);
    if (r->cases > 1)
        table_show(stdout, r, terminal.columns);
    if (shown->stats.wrong.count) {
        printf("\n%s: WRONG, so no result is shown.\n", shown->name);
        return;
    }
    if (r->cases > 1)
        printf("\n%s, rank by rank:", shown->name);
    table_ranks(stdout, shown);
    putchar('\n');
    if (why_withdrawn)
        puts(why_withdrawn);
    table_blame(stdout, r, shown);
    if (r->cases == 1)
        printf("No other case to compare with: a rank is blamed if it caused more than three quarters of the "
               "waiting,\nand caused most of it in more %s than chance explains.\n",
               shown->stats.stretch == 1 ? "steps"
               : file->rank_numbers      ? "stretches of steps"
                                         : "rounds, or stretches of four steps,");
    hint_tell(stdout, shown);
}

/* Remove old charts: they would not match the new tables. */
static void remove_charts(const char *folder)
{
    static const char *const names[] = { "charts.csv",   "breakdown.svg", "breakdown.png", "timeline.svg",
                                         "timeline.png", "step_time.svg", "step_time.png" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = memory_text("%s/%s", folder, names[i]);
        if (unlink(path) != 0 && errno != ENOENT)
            die(STATUS_WRONG, "cannot remove %s, a chart of earlier tables: %s", path, strerror(errno));
        free(path);
    }
}

/* Draw the charts. Return true on success; else the reason was printed. */
static bool draw(const struct report *r, const struct outcome *shown)
{
    extern char **environ;
    char *settings = memory_text("told_best='%s %s'", r->outcomes[0].name, shown == r->outcomes ? "" : shown->name);
    char *folder = memory_text("%s", r->folder), script[] = LOCKSTEP_PLOTS "/draw.sh", stem[] = "blame";
    char *argv[] = { script, stem, folder, settings, NULL };
    pid_t child;
    fflush(stdout); /* draw.sh may print */
    int status = 0, error = posix_spawn(&child, script, NULL, NULL, argv, environ);
    bool is_drawn = !error && waitpid(child, &status, 0) >= 0 && status == 0;
    if (error)
        warn("the charts could not be drawn: %s: %s", script, strerror(error));
    free(folder);
    free(settings);
    return is_drawn;
}

int main(int argc, char **argv)
{
    struct options options = { .out = "results/blame", .skip_first_steps = -1, .clock_error_ms = -1 };
    const struct option_row *const tables[] = { option_rows, NULL };
    struct sources sources = sources_take(&argc, &argv);
    options_parse(tables, &options, "blame: which rank waited for which, from the spans or traces of any job", argc,
                  argv);
    if (options.spans)
        sources_add(&sources, options.spans);
    if (sources.count == 0)
        die(STATUS_USAGE,
            "no file of spans; name one, as in blame results/01_straggler/spans.csv; --help lists the options");
    struct spans_wishes wishes = { .skip_first_steps = options.skip_first_steps,
                                   .clock_error = options.clock_error_ms < 0 ? NAN : 1e-3 * options.clock_error_ms,
                                   .hides_arrivals = options.hides_arrivals };
    struct spans_file *file = sources_open(&sources, &options.trace, &wishes);
    if (options.shown)
        index_of_case(file, "--case", options.shown);
    struct origin origin = origin_of(file);
    struct report report = report_of(file, &options, &origin);
    file_refuse_out(options.out, file_make_folder(options.out));
    int wrong = 0;
    for (int i = 0; i < report.cases; i++)
        wrong += report.outcomes[i].stats.wrong.count;
    char *why_withdrawn = file->missing_ranks > 0 ? partial_withdraw(&report.outcomes[0]) : NULL;
    print_report(&report, file, &options, why_withdrawn);
    free(why_withdrawn);
    struct file_set files = { 0 };
    report.files = &files;
    report_write_tables(&report);
    rounds_table_write(&report);
    lanes_write(&report);
    trace_write(&report);
    file_set_commit(&files);
    remove_charts(report.folder);
    bool is_drawn = !wrong && draw(&report, choose_shown(&report, options.shown));
    printf("Tables%s: %s\n", is_drawn ? ", trace and charts" : " and trace", report.folder);
    release(&report);
    free(origin.head);
    free(origin.platform);
    spans_file_close(file);
    sources_close(&sources);
    return wrong ? STATUS_WRONG : STATUS_RIGHT;
}
