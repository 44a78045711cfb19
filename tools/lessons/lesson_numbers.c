/* lesson_numbers: do the numbers of the lessons come from the runs that are checked in beside them?
 *
 *     lesson_numbers --sources . [--write] [--style] [--only 01_straggler] [--plan]
 *
 * Reads README.md and notebooks-md/NAME.md below SOURCES. A number of a run is followed by a marker, a comment of HTML with an
 * expression (tools/claims/expression.h), which is evaluated in the tables of SOURCES/notebooks-md/runs:
 *     40.4<!-- skew_ws4.slowest_step_ms - baseline.slowest_step_ms -->
 * docs/lessons.md lists all markers. For each that differs from its run, prints one line: file, line, the text's number, the run's.
 * A text with a marker is checked as a whole: a number without a source is named, too.
 *
 *     --write   put the numbers, tables and lanes of the runs into the texts; print what changed
 *     --style   also check the length of sentences, paragraphs, lessons (notebooks-md/NN_name.md) and README.md, also of texts
 *               without a marker, and that lessons follow their template
 *     --only    this text only, by its name without .md
 *     --plan    print what ./run_all.sh --lesson-figures has to make, and nothing else:
 *                   run LAB PLACE OPTION…      a row per <!-- run: … --> of a lesson
 *                   picture LAB PLACE CHART    notebooks-md/img/LAB_CHART.png
 *                   table PATH                 a table that markers read, below notebooks-md/runs
 *
 * Exit status: 0 texts and runs agree, 1 they do not, 2 a marker cannot be read, or bad usage. */
#include "base/die.h"
#include "base/files.h"
#include "base/memory.h"
#include "options/options.h"
#include "plan.h"
#include "rewrite.h"
#include "style.h"
#include "template.h"
#include "unexplained.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

struct options {
    const char *sources, *only;
    bool write, style, plan;
};

#define AT(member) offsetof(struct options, member)
static const struct option_row option_rows[] = {
    { "--sources", OPTION_TEXT, AT(sources), 0, 0, "DIR", "folder of the project" },
    { "--only", OPTION_TEXT, AT(only), 0, 0, "NAME", "this text only, such as 01_straggler or README" },
    { "--write", OPTION_SWITCH, AT(write), 0, 0, "", "put the numbers of the runs into the texts" },
    { "--style", OPTION_SWITCH, AT(style), 0, 0, "", "also check the length of sentences, paragraphs and texts" },
    { "--plan", OPTION_SWITCH, AT(plan), 0, 0, "", "only list the runs, pictures and tables that the texts need" },
    { 0 },
};
#undef AT

/* --- one text ------------------------------------------------------------------------------------------------------- */

/* True if the text has a marker, apart from those of the report (<!-- this run: … -->). */
static bool has_marker(const struct check *check)
{
    for (int i = 0; i < check->text->comment_count; i++) {
        const struct comment *comment = &check->text->comments[i];
        if (!comment_after(comment, "this run:") && rewrite_is_marker(check, comment))
            return true;
    }
    return false;
}

static void write_text(const char *path, const char *raw)
{
    const char *slash = strrchr(path, '/');
    char *folder = memory_text("%.*s", (int)(slash - path), path);
    struct file file = file_begin(folder, slash + 1);
    fputs(raw, file.out);
    file_commit(&file);
    free(folder);
}

static int most_words(const char *name)
{
    bool is_readme = strcmp(name, "README.md") == 0; /* not that of notebooks-md */
    return is_readme                                                               ? STYLE_README_WORDS
           : where_is_lab(name + strcspn(name, "/") + (strchr(name, '/') != NULL)) ? STYLE_LESSON_WORDS
                                                                                   : 0;
}

/* Compare the text with its runs, or rewrite it. Return the number of complaints. */
static int check_text(const struct options *o, struct runs *runs, const char *name, const char *stem)
{
    char *path = memory_text("%s/%s", o->sources, name), *raw = file_read(path, NULL);
    if (!raw)
        die(STATUS_USAGE, "%s cannot be read; name the project's folder with --sources", path);
    struct lesson_text text = lesson_text_parse(name, raw);
    struct check check = { .text = &text, .runs = runs };
    if (where_is_lab(stem))
        snprintf(check.lab, sizeof check.lab, "%s", stem);
    runs_begin_text(runs);
    if (has_marker(&check)) {
        if (o->plan)
            plan_print(&check);
        plan_open_runs(&check);
        char *right = rewrite(&check, o->write);
        if (o->write && strcmp(right, raw) != 0)
            write_text(path, right);
        free(right);
        if (!o->plan)
            find_unexplained(&check);
    }
    if (o->style) {
        style_check(&check, most_words(name));
        if (*check.lab)
            template_check(&check);
    }
    lesson_text_free(&text);
    free(raw);
    free(path);
    return check.complaints;
}

/* --- main ----------------------------------------------------------------------------------------------------------- */

static bool is_wanted(const struct options *o, const char *stem)
{
    return !o->only || strcmp(o->only, stem) == 0;
}

static int check_lessons(const struct options *o, struct runs *runs, int *texts)
{
    char *folder = memory_text("%s/notebooks-md", o->sources);
    struct dirent **files;
    int count = scandir(folder, &files, NULL, alphasort), complaints = 0;
    if (count < 0)
        die(STATUS_USAGE, "%s cannot be read; name the project's folder with --sources", folder);
    for (int i = 0; i < count; i++) {
        const char *file = files[i]->d_name, *dot = strrchr(file, '.');
        char *stem = memory_text("%.*s", (int)(dot ? dot - file : 0), file);
        char *name = memory_text("notebooks-md/%s", file);
        if (dot && strcmp(dot, ".md") == 0 && is_wanted(o, stem)) {
            complaints += check_text(o, runs, name, stem);
            ++*texts;
        }
        free(name);
        free(stem);
        free(files[i]);
    }
    free(files);
    free(folder);
    return complaints;
}

int main(int argc, char **argv)
{
    struct options o = { .sources = "." };
    const struct option_row *const tables[] = { option_rows, NULL };
    options_parse(tables, &o, "lesson_numbers: do the numbers of the lessons come from their runs?", argc, argv);
    if (o.plan && (o.write || o.style))
        die(STATUS_USAGE, "--plan only lists; leave out %s", o.write ? "--write" : "--style");
    char *folder = memory_text("%s/notebooks-md/runs", o.sources), *expected = memory_text("%s/expected", o.sources);
    struct runs runs = { .runs = folder, .expected = expected, .are_planned = o.plan };
    int complaints = 0, texts = 0;
    if (is_wanted(&o, "README")) {
        complaints += check_text(&o, &runs, "README.md", "README");
        texts++;
    }
    complaints += check_lessons(&o, &runs, &texts);
    if (texts == 0)
        die(STATUS_USAGE, "--only %s is no text; name one of notebooks-md without .md, or README", o.only);
    for (int i = 0; o.plan && i < runs.count; i++)
        if (runs.at[i].is_of_run)
            printf("table %s\n", runs.at[i].path + strlen(folder) + 1);
    runs_close(&runs);
    free(folder);
    free(expected);
    return complaints > 0 && !o.plan ? STATUS_WRONG : STATUS_RIGHT;
}
