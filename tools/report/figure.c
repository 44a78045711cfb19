#include "figure.h"

#include "base/memory.h"
#include "base/number.h"
#include "html.h"
#include "svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PICTURES_MOST = 1300000, /* bytes of a page's charts; with lesson and tables a page stays below 2 MB */
    CASES_MOST = 6,          /* cases in a text alternative if the chart lists none; a table has the others */
};

void figures_close(struct figures *figures)
{
    for (int i = 0; i < figures->count; i++)
        free(figures->shown[i]);
    free(figures->shown);
}

static void remember(struct figures *figures, const char *path)
{
    figures->shown = memory_grow(figures->shown, ((size_t)figures->count + 1) * sizeof *figures->shown);
    figures->shown[figures->count++] = memory_text("%s", path);
}

static char *path_of(const struct finding *finding, const char *what)
{
    return memory_text("%s/%s.svg", finding->folder, what);
}

void figure_note(struct figures *figures, const struct finding *finding, const char *what)
{
    char *path = path_of(finding, what);
    remember(figures, path);
    free(path);
}

bool figure_is_shown(const struct figures *figures, const struct finding *finding, const char *chart)
{
    char *path = path_of(finding, chart);
    bool is = false;
    for (int i = 0; i < figures->count; i++)
        is |= strcmp(figures->shown[i], path) == 0;
    free(path);
    return is;
}

static void put_link(FILE *out, const char *path, const char *alt)
{
    fputs("<p>This page is full; the chart is in ", out);
    html_link(out, path, path);
    fputs(": ", out);
    html_text(out, alt);
    fputs("</p>\n", out);
}

bool figure_put_path(FILE *out, struct figures *figures, const char *path, const char *alt, const char *caption)
{
    char *prefix = memory_text("c%d-", figures->count), *file = memory_text("%s/%s", figures->results, path);
    long size = svg_size(file);
    bool has_room = figures->bytes + size < PICTURES_MOST; /* the embedded chart is shorter than its file */
    char *svg = size >= 0 && has_room ? svg_read(file, prefix, alt) : NULL;
    bool is_there = svg || (size >= 0 && !has_room);
    if (is_there) {
        remember(figures, path);
        fputs("<figure>\n", out);
        if (svg)
            fprintf(out, "<div class=\"chart\" tabindex=\"0\" role=\"group\" aria-label=\"chart\">%s</div>\n", svg);
        else
            put_link(out, path, alt);
        figures->bytes += svg ? (long)strlen(svg) : 0;
        if (caption)
            fprintf(out, "<figcaption>%s</figcaption>\n", caption);
        fputs("</figure>\n", out);
    }
    free(svg);
    free(file);
    free(prefix);
    return is_there;
}

/* True if `word` is in a list of words separated by blanks. */
static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; *at; at += strcspn(at, " "), at += strspn(at, " "))
        if (strcspn(at, " ") == length && strncmp(at, word, length) == 0)
            return true;
    return false;
}

/* Return "one rank sleeps (skew_ws4)", or the name of a case without label. Free it. */
static char *title_of_case(const struct csv_table *summary, int row)
{
    const char *name = csv_field(summary, row, "case"), *label = csv_field(summary, row, "label");
    const bool has_label = label && *label && strcmp(label, name) != 0;
    return has_label ? memory_text("%s (%s)", label, name) : memory_text("%s", name);
}

/* Print a case: "baseline 47.3 ms, of which waiting 2.7 ms in the mean"; for one step: "one rank sleeps (skew_ws4): ranks 1 to 3
 * wait 39.8 ms for rank 0: its data took 40.3 ms, theirs 0.50 ms". */
static void print_case(FILE *out, const struct finding *finding, int row, bool is_one_step)
{
    const struct csv_table *summary = &finding->summary;
    const char *name = csv_field(summary, row, "case");
    double step = csv_value(summary, row, "slowest_step_ms"), wait = csv_value(summary, row, "wait_ms");
    double blamed = csv_value(summary, row, "blamed_rank");
    int decimals = number_ms_decimals(1e-3 * step);
    char *title = title_of_case(summary, row), *waiting = is_one_step ? finding_waiting(finding, name) : NULL;
    if (finding_is_wrong(finding, row)) {
        fprintf(out, "%s: failed its checks", title);
    } else if (waiting) {
        fprintf(out, "%s: %s", title, waiting);
    } else {
        fprintf(out, "%s %.*f ms", title, decimals, step);
        if (wait > 0)
            fprintf(out, ", of which waiting %.*f ms in the mean", decimals, wait);
        if (!isnan(blamed))
            fprintf(out, ", for rank %.0f", blamed);
    }
    free(waiting);
    free(title);
}

/* Print the cases that the chart shows, at most CASES_MOST. */
static void print_cases(FILE *out, const struct finding *finding, const char *shown, bool is_one_step)
{
    int text = 0, left = 0;
    for (int row = 0; row < finding->summary.rows; row++) {
        if (shown && *shown && !has_word(shown, csv_field(&finding->summary, row, "case")))
            continue;
        if (text == CASES_MOST) {
            left++;
            continue;
        }
        fputs(text++ ? "; " : "", out);
        print_case(out, finding, row, is_one_step);
    }
    if (left > 0)
        fprintf(out, "; and %d more cases", left);
    fputc('.', out);
}

/* Return the text alternative: the chart's title and axis, and the numbers of charts that all labs have. */
static char *alt_of(const struct finding *finding, const char *chart, int row)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = memory_stream(&text, &size);
    bool is_one_step = strcmp(chart, "timeline") == 0;
    fprintf(out, "%s. Shown: %s. ", csv_field(&finding->charts, row, "title"),
            csv_field(&finding->charts, row, "axis"));
    if (is_one_step || strcmp(chart, "breakdown") == 0 || strcmp(chart, "step_time") == 0) {
        fprintf(out, is_one_step ? "A typical step, %s: " : "A step, %s: ", finding->place);
        print_cases(out, finding, csv_field(&finding->charts, row, "cases"), is_one_step);
    } else {
        fprintf(out, "Its numbers are in the tables of %s.", finding->folder);
    }
    fclose(out);
    return text;
}

/* Return "<strong>This run, here, measured.</strong> 4 ranks · …". */
static char *caption_of(const struct finding *finding)
{
    char *said = finding_caption(finding), *caption = NULL;
    size_t size = 0;
    FILE *out = memory_stream(&caption, &size);
    fputs("<strong>This run, ", out);
    html_text(out, finding->place);
    fputs(".</strong> ", out);
    html_text(out, said);
    fclose(out);
    free(said);
    return caption;
}

bool figure_put(FILE *out, struct figures *figures, const struct finding *finding, const char *chart, bool has_caption)
{
    int row = finding_chart(finding, chart);
    if (row < 0)
        return false;
    char *path = path_of(finding, chart), *alt = alt_of(finding, chart, row);
    char *caption = has_caption ? caption_of(finding) : NULL;
    bool was_put = figure_put_path(out, figures, path, alt, caption);
    free(caption);
    free(alt);
    free(path);
    return was_put;
}
