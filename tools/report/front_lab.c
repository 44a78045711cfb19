#include "front_lab.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/number.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Parts of a step, means over ranks; they add up to the mean step. Words of the glossary (notebooks-md/README.md). */
static const struct {
    const char *column, *word;
} terms[] = { { "data_ms", "data" },
              { "local_ms", "local work" },
              { "host_ms", "host work" },
              { "wait_ms", "waiting" },
              { "transfer_ms", "transfer" } };
enum { TERMS = sizeof terms / sizeof *terms };

static double mean_step(const struct csv_table *summary, int row)
{
    double step = 0;
    for (int i = 0; i < TERMS; i++)
        step += csv_value(summary, row, terms[i].column);
    return step;
}

/* Write the question that the lab asks: the first line of its source. Nothing if there is none. */
static void put_question(FILE *out, const struct book *book, const char *lab)
{
    char *path = memory_text("%s/labs/%s.c", book->sources, lab), *prefix = memory_text("/* %s: ", lab);
    char *source = file_read(path, NULL);
    if (source && strncmp(source, prefix, strlen(prefix)) == 0) {
        char *question = source + strlen(prefix);
        question[strcspn(question, "\n")] = '\0';
        *question = (char)toupper((unsigned char)*question);
        fputs("<p><strong>Asked:</strong> ", out);
        html_text(out, question);
        fputs("</p>\n", out);
    }
    free(source);
    free(prefix);
    free(path);
}

/* Write "; most of the difference is transfer, +201.3 ms", unless no part of the step makes most of it. */
static void put_largest_term(FILE *out, const struct csv_table *summary, int row, int decimals)
{
    double difference = mean_step(summary, row) - mean_step(summary, 0), largest = 0;
    const char *word = NULL;
    for (int i = 0; i < TERMS; i++) {
        double more = csv_value(summary, row, terms[i].column) - csv_value(summary, 0, terms[i].column);
        if (more / difference > largest) { /* false for NaN */
            largest = more / difference;
            word = terms[i].word;
        }
    }
    if (largest > 0.5)
        fprintf(out, "; most of the difference is %s, %s%.*f ms", word, difference < 0 ? "−" : "+", decimals,
                largest * fabs(difference));
}

/* Write "; of every 100 core-seconds, 29 waited for rank 0". Return false, and write nothing, if no rank is blamed. */
static bool put_blame(FILE *out, const struct finding *f, int row)
{
    double waited = csv_value(&f->summary, row, "blamed_wait_ms") / mean_step(&f->summary, row);
    double share = 100 * waited / csv_value(&f->summary, row, "ranks");
    double blamed = csv_value(&f->summary, row, "blamed_rank");
    if (!(share >= 0.5) || isnan(blamed))
        return false;
    char *gpus = finding_comment(f, "GPUs", 0);
    fprintf(out, "; of every 100 %s-seconds, %.0f waited for rank %.0f", gpus ? "GPU" : "core", share, blamed);
    free(gpus);
    return true;
}

/* Return a case's name for learners; NULL if the table has none. */
static const char *label_of(const struct csv_table *summary, int row)
{
    const char *label = csv_field(summary, row, "label");
    return label && *label ? label : NULL;
}

/* Write which fix helps most: of the cases whose label is that of `row`, " + " and a fix, the one with the shortest step. Nothing if
 * none is shorter than `row`. */
static void put_best_fix(FILE *out, const struct finding *f, int row, int decimals)
{
    const struct csv_table *summary = &f->summary;
    const char *label = label_of(summary, row), *best = NULL;
    char *prefix = memory_text("%s + ", label ? label : "");
    double shortest = csv_value(summary, row, "slowest_step_ms");
    for (int other = 0; label && other < summary->rows; other++) {
        const char *its = label_of(summary, other);
        double step = csv_value(summary, other, "slowest_step_ms");
        if (its && strncmp(its, prefix, strlen(prefix)) == 0 && step < shortest && !finding_is_wrong(f, other)) {
            best = its + strlen(prefix);
            shortest = step;
        }
    }
    free(prefix);
    if (!best)
        return;
    fputs("<p><strong>Helps most:</strong> ", out);
    html_text(out, best);
    fprintf(out, ", with which a step takes %.*f ms.</p>\n", decimals, shortest);
}

/* Write the result of the case that the prompt asks about, in one sentence: its step, the baseline's, the prediction, and the
 * reason. Write the best fix in another. */
static void put_found(FILE *out, const struct finding *f)
{
    char *asked = finding_comment(f, "asked", 0);
    const struct csv_table *summary = &f->summary;
    int row = asked ? csv_find(summary, "case", asked) : -1;
    double step = csv_value(summary, row, "slowest_step_ms"), before = csv_value(summary, 0, "slowest_step_ms");
    free(asked);
    if (row <= 0 || isnan(step) || isnan(before) || finding_is_wrong(f, row) || finding_is_wrong(f, 0))
        return;
    int decimals = number_ms_decimals(1e-3 * step);
    double predicted = csv_value(summary, row, "predicted_step_ms"), efficiency = csv_value(summary, row, "efficiency");
    const char *label = label_of(summary, row);
    fputs("<p><strong>Found</strong> (", out);
    html_text(out, f->place);
    fputs(label ? "): with “" : "): with <code>", out);
    html_text(out, label ? label : csv_field(summary, row, "case"));
    fprintf(out, "%s a step takes %.*f ms instead of %.*f", label ? "”" : "</code>", decimals, step, decimals, before);
    if (!isnan(predicted))
        fprintf(out, " (predicted: %.*f)", decimals, predicted);
    if (!isnan(efficiency))
        fprintf(out, ", at an efficiency of %.0f %%", 100 * efficiency);
    if (!put_blame(out, f, row))
        put_largest_term(out, summary, row, decimals);
    fputs(".</p>\n", out);
    put_best_fix(out, f, row, decimals);
}

void front_lab(FILE *out, const struct book *book, int lab, struct figures *figures)
{
    const struct lesson *lesson = &book->lessons[lab];
    const struct lab_findings *findings = &book->findings[lab];
    fputs("<section>\n<h3>", out);
    html_link(out, book->site.links[lab + 1].file, lesson->title);
    fputs("</h3>\n", out);
    put_question(out, book, lesson->stem);
    char *chart = lesson_first_chart(lesson);
    const struct finding *shown = NULL; /* first place that has the chart: a lab started by hand draws none */
    for (int i = 0; chart && i < findings->count && !shown; i++)
        shown = finding_chart(&findings->at[i], chart) >= 0 ? &findings->at[i] : NULL;
    if (findings->count == 0)
        fputs("<p class=\"note\">Not run yet.</p>\n", out);
    else
        put_found(out, shown ? shown : &findings->at[0]);
    if (shown)
        figure_put(out, figures, shown, chart, true);
    fputs("</section>\n", out);
    free(chart);
}
