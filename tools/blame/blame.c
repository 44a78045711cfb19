/* blame: finds which rank the others waited for, in the spans of any job.
 *
 *     blame spans.csv
 *     blame rank0.json.gz rank1.json.gz ...       or the folder that has them
 *
 * Reads the time spans of all ranks of a job: a spans.csv, the job's or a lab's own (notebooks-md/your_own_job.md has the format, and ten
 * lines that write it); or the Chrome traces of torch.profiler, one per rank (trace_case.h). Prints what a lab prints about its own run:
 * the split of every collective into wait and transfer, the waiting that each rank caused, the blamed rank if there is one, and the step
 * time if all ranks were as fast as the median rank. Writes below --out:
 *     summary.csv, ranks.csv, rounds.csv, lanes.csv, trace.json   as in a lab's folder
 *     page.html                                   the same on one page: lanes, tables, what each fix would gain, what to try
 *     timeline, breakdown, step_time (svg, png), charts.csv       if gnuplot exists and no rank left a collective early
 *
 * --after names a second recording, made after a fix: its step is compared with the first and with what the fix promised.
 *
 * Several cases in a file are compared with one of them: --baseline, else the case named `baseline`, else the first.
 *
 * Exit status: 0 no rank and no host is named; 10 one is; 1 a rank left a collective before the last rank arrived; 2 the file is
 * malformed: one line names file, line, reason and cure. */
#include "answer.h"
#include "base/die.h"
#include "base/files.h"
#include "base/folders.h"
#include "base/memory.h"
#include "chain.h"
#include "charts.h"
#include "comparison.h"
#include "flight.h"
#include "job_report.h"
#include "options/options.h"
#include "page.h"
#include "partial.h"
#include "report/lanes.h"
#include "report/rounds_table.h"
#include "report/trace.h"
#include "sources.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { STATUS_NAMED = 10 }; /* a rank or host stands out; other programs of this project never end so */

struct options {
    const char *spans, *out, *baseline, *shown, *after;
    double clock_error_ms;
    int skip_first_steps;
    bool hides_arrivals, json;
    struct trace_options trace;
};

#define AT(member) offsetof(struct options, member)
static const struct option_row option_rows[] = {
    { "--spans", OPTION_TEXT, AT(spans), 0, 0, "FILE",
      "spans of all ranks, or a folder of traces; words without a flag are the same" },
    { "--out", OPTION_TEXT, AT(out), 0, 0, "DIR", "folder of tables, trace and charts" },
    { "--baseline", OPTION_TEXT, AT(baseline), 0, 0, "CASE",
      "case to compare with; else `baseline`, or the first case" },
    { "--case", OPTION_TEXT, AT(shown), 0, 0, "CASE", "case to explain; else the case with the longest waits" },
    { "--after", OPTION_TEXT, AT(after), 0, 0, "FILE",
      "recording of the same job after a fix, or a folder of traces: what did the fix gain?" },
    { "--skip-first-steps", OPTION_INTEGER, AT(skip_first_steps), -1, 1e9, "N",
      "warm-up steps; -1: by the column `measured`, or 2 of at least 4" },
    { "--clock-error-ms", OPTION_NUMBER, AT(clock_error_ms), -1, 1e6, "MS",
      "by how much the clocks of two ranks may differ; -1: 0, or estimated from traces" },
    { "--hides-arrivals", OPTION_SWITCH, AT(hides_arrivals), 0, 0, "",
      "spans do not show when a rank arrived: no wait, no blame" },
    { "--step-name", OPTION_TEXT, AT(trace.step_name), 0, 0, "NAME",
      "of traces: the annotation around a step; else ProfilerStep" },
    { "--json", OPTION_SWITCH, AT(json), 0, 0, "", "print one JSON object instead of text, and draw no charts" },
    { "--partial", OPTION_SWITCH, AT(trace.is_partial), 0, 0, "", "of traces: some ranks are missing" },
    { 0 },
};
#undef AT

/* Write the tables, the page and, unless a check failed, the charts. */
static void write_results(struct report *report, const struct answer *answer, const char *why_withdrawn,
                          const struct comparison *comparison, bool is_wrong, bool is_quiet)
{
    struct file_set files = { 0 };
    report->files = &files;
    report_write_tables(report);
    rounds_table_write(report);
    lanes_write(report);
    trace_write(report);
    file_set_commit(&files);
    page_write(answer, why_withdrawn, comparison);
    charts_remove(report->folder);
    bool is_drawn = !is_wrong && !is_quiet && charts_draw(report, answer->shown);
    if (!is_quiet)
        printf("Tables%s: %s\n", is_drawn ? ", trace and charts" : " and trace", report->folder);
}

static int count_wrong(const struct report *report)
{
    int wrong = 0;
    for (int i = 0; i < report->cases; i++)
        wrong += report->outcomes[i].stats.wrong.count;
    return wrong;
}

static void keep_warning(void *to, const char *message)
{
    struct warnings *w = to;
    w->at = memory_grow(w->at, ((size_t)w->count + 1) * sizeof *w->at);
    w->at[w->count++] = memory_text("%s", message);
}

static void forget_warnings(struct warnings *w)
{
    warn_also(NULL, NULL);
    while (w->count > 0)
        free(w->at[--w->count]);
    free(w->at);
}

int main(int argc, char **argv)
{
    if (flight_is_meant(argc, argv))
        return flight_main(argc, argv);
    struct options options = { .out = "results/blame", .skip_first_steps = -1, .clock_error_ms = -1 };
    const struct option_row *const tables[] = { option_rows, NULL };
    struct sources sources = sources_take(&argc, argv, option_rows);
    options_parse(tables, &options, "blame: which rank waited for which, from the spans or traces of any job", argc,
                  argv);
    if (options.spans) { /* the last value of a repeated option counts */
        sources_close(&sources);
        sources_add(&sources, options.spans);
    }
    if (sources.count == 0)
        die(STATUS_USAGE,
            "no file of spans; name one, as in blame results/01_straggler/spans.csv; --help lists the options");
    struct spans_wishes wishes = { .skip_first_steps = options.skip_first_steps,
                                   .clock_error = options.clock_error_ms < 0 ? NAN : 1e-3 * options.clock_error_ms,
                                   .hides_arrivals = options.hides_arrivals };
    struct warnings warnings = { 0 };
    warn_also(keep_warning, &warnings);
    struct spans_file *file = sources_open(&sources, &options.trace, &wishes);
    if (options.shown)
        job_report_case(file, "--case", options.shown);
    struct report report = job_report_open(file, options.out, options.baseline);
    file_refuse_out(options.out, file_make_folder(options.out));
    struct outcome *shown = &report.outcomes[job_report_shown(&report, options.shown) - report.outcomes];
    const struct spans_case *of = &file->cases[job_report_case(file, NULL, shown->name)];
    char *why_withdrawn = file->missing_ranks > 0 ? partial_withdraw(shown) : NULL;
    if (!why_withdrawn)
        why_withdrawn = chain_withdraw(of, shown);
    if (why_withdrawn)
        keep_warning(&warnings, why_withdrawn);
    struct answer answer = answer_find(file, &report, shown);
    struct comparison comparison = { 0 };
    if (options.after)
        comparison = comparison_of(&answer, options.after, &options.trace, &wishes);
    if (options.json)
        answer_print_json(stdout, &answer, &comparison, &warnings);
    else
        answer_print(&answer, why_withdrawn, &comparison);
    const int wrong = count_wrong(&report);
    write_results(&report, &answer, why_withdrawn, &comparison, wrong > 0, options.json);
    int status = wrong ? STATUS_WRONG : culprit_is_named(&answer.culprit) ? STATUS_NAMED : STATUS_RIGHT;
    free(why_withdrawn);
    forget_warnings(&warnings);
    comparison_close(&comparison);
    answer_close(&answer);
    job_report_close(&report);
    spans_file_close(file);
    sources_close(&sources);
    return status;
}
