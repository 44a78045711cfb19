#include "figure.h"

#include "html.h"
#include "memory.h"
#include "svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PAGE_MOST = 1800000, /* bytes that charts may fill a page to: with its tables it stays below 2 MB */
    CASES_TOLD = 6,      /* of a chart in words; a table beside it tells the others */
};

void figures_close(struct figures *figures)
{
    for (int i = 0; i < figures->count; i++)
        free(figures->shown[i]);
}

static bool has_room(const struct figures *figures)
{
    return figures->count < (int)(sizeof figures->shown / sizeof *figures->shown);
}

static bool was_shown(const struct figures *figures, const char *path)
{
    for (int i = 0; i < figures->count; i++)
        if (strcmp(figures->shown[i], path) == 0)
            return true;
    return false;
}

void figure_note(struct figures *figures, const struct finding *finding, const char *what)
{
    if (has_room(figures))
        figures->shown[figures->count++] = memory_text("%s/%s.svg", finding->folder, what);
}

bool figure_is_shown(const struct figures *figures, const struct finding *finding, const char *chart)
{
    char *path = memory_text("%s/%s.svg", finding->folder, chart);
    bool is = was_shown(figures, path);
    free(path);
    return is;
}

bool figure_put_path(FILE *out, struct figures *figures, const char *path, const char *alt, const char *caption)
{
    char *prefix = memory_text("c%d-", figures->count), *file = memory_text("%s/%s", figures->results, path);
    char *svg = has_room(figures) ? svg_read(file, prefix, alt) : NULL;
    bool is_there = svg != NULL;
    if (is_there) {
        figures->shown[figures->count++] = memory_text("%s", path);
        fputs("<figure>\n", out);
        if (ftell(out) + (long)strlen(svg) < PAGE_MOST) {
            fprintf(out, "<div class=\"chart\" tabindex=\"0\" role=\"group\" aria-label=\"chart\">%s</div>\n", svg);
        } else {
            fprintf(out, "<p>This page is full; the chart is in <a href=\"%s\">%s</a>: ", path, path);
            html_text(out, alt);
            fputs("</p>\n", out);
        }
        if (caption)
            fprintf(out, "<figcaption>%s</figcaption>\n", caption);
        fputs("</figure>\n", out);
    }
    free(svg);
    free(file);
    free(prefix);
    return is_there;
}

/* "baseline 47.3, of which waiting 2.7; skew_ws4 84.3, of which waiting 30.1, for rank 0"; or, of one step, "skew_ws4:
 * ranks 1 to 3 wait 39.8 ms for rank 0: its data took 40.3 ms, theirs 0.50 ms" */
static void tell_cases(FILE *out, const struct finding *finding, bool is_one_step)
{
    const struct csv_table *summary = &finding->summary;
    for (int row = 0; row < summary->rows && row < CASES_TOLD; row++) {
        const char *name = csv_field(summary, row, "case");
        double wait = csv_value(summary, row, "wait_ms"), blamed = csv_value(summary, row, "blamed_rank");
        char *waiting = is_one_step ? finding_waiting(finding, name) : NULL;
        fputs(row == 0 ? "" : "; ", out);
        if (waiting)
            fprintf(out, "%s: %s", name, waiting);
        else
            fprintf(out, "%s %.3g", name, csv_value(summary, row, "slowest_step_ms"));
        if (!waiting && wait > 0)
            fprintf(out, ", of which waiting %.3g in the mean", wait);
        if (!waiting && !isnan(blamed))
            fprintf(out, ", for rank %.0f", blamed);
        free(waiting);
    }
    if (summary->rows > CASES_TOLD)
        fprintf(out, "; and %d more cases", summary->rows - CASES_TOLD);
    fputc('.', out);
}

/* Title and axis as they stand in the chart, and of the charts that all labs have the numbers. */
static char *alt_of(const struct finding *finding, const char *chart)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    for (int row = 0; row < finding->charts.rows; row++)
        if (strcmp(csv_field(&finding->charts, row, "chart"), chart) == 0)
            fprintf(out, "%s. Shown: %s. ", csv_field(&finding->charts, row, "title"),
                    csv_field(&finding->charts, row, "axis"));
    bool is_one_step = strcmp(chart, "timeline") == 0;
    if (is_one_step || strcmp(chart, "breakdown") == 0 || strcmp(chart, "step_time") == 0) {
        fprintf(out, is_one_step ? "A typical step, %s: " : "Milliseconds a step, %s: ", finding->place);
        tell_cases(out, finding, is_one_step);
    } else {
        fprintf(out, "Its numbers are in the tables of %s.", finding->folder);
    }
    fclose(out);
    return text;
}

/* "<strong>This run, here, measured.</strong> 4 ranks · …" */
static char *caption_of(const struct finding *finding)
{
    char *said = finding_caption(finding), *caption = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&caption, &size);
    fprintf(out, "<strong>This run, %s.</strong> ", finding->place);
    html_text(out, said);
    fclose(out);
    free(said);
    return caption;
}

bool figure_put(FILE *out, struct figures *figures, const struct finding *finding, const char *chart, bool is_told)
{
    char *path = memory_text("%s/%s.svg", finding->folder, chart), *alt = alt_of(finding, chart);
    char *caption = is_told ? caption_of(finding) : NULL;
    bool was_put = figure_put_path(out, figures, path, alt, caption);
    free(caption);
    free(alt);
    free(path);
    return was_put;
}
