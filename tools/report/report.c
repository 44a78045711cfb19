/* report: writes the results as HTML pages
 *
 *     report --results results --sources .
 *
 * Writes RESULTS/index.html (runs, labs at a glance, published numbers beside this machine's, guesses, machine card) and a page
 * per lesson of SOURCES/notebooks-md, with this run's charts and tables in place of the lesson's own. Each page is
 * self-contained: it opens from disk, without network or script. The report measures nothing: all numbers come from the CSV
 * files that the labs, `claims` and run_all.sh wrote.
 *
 * Exit status: 0 done, 1 a page could not be written, 2 bad usage. */
#include "base/die.h"
#include "base/memory.h"
#include "front.h"
#include "options/options.h"
#include "tables.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options {
    const char *results, *sources;
};

#define AT(member) offsetof(struct options, member)
static const struct option_row option_rows[] = {
    { "--results", OPTION_TEXT, AT(results), 0, 0, "DIR", "folder of the results, and of the pages" },
    { "--sources", OPTION_TEXT, AT(sources), 0, 0, "DIR", "folder of the project: lessons and style of the pages" },
    { 0 },
};
#undef AT

/* --- input ------------------------------------------------------------------------------------------ */

static bool is_lab(const char *stem)
{
    return strspn(stem, "0123456789") == 2 && stem[2] == '_';
}

static void add_lesson(struct book *book, const char *folder, const char *stem)
{
    int count = book->site.count - 1; /* not counting the front page */
    struct lesson *lessons = memory_grow(book->lessons, ((size_t)count + 1) * sizeof *lessons);
    struct html_link *links = memory_grow(book->site.links, ((size_t)count + 2) * sizeof *links);
    lessons[count] = lesson_open(folder, stem);
    links[count + 1] =
        (struct html_link){ .file = memory_text("%s.html", stem), .title = memory_text("%s", lessons[count].title) };
    book->lessons = lessons;
    book->site.links = links;
    book->site.count++;
}

/* Open the lessons by name, those of labs first. README.md is left out: the front page takes its place. */
static void open_lessons(struct book *book, const char *folder)
{
    struct dirent **files;
    int count = scandir(folder, &files, NULL, alphasort);
    if (count < 0)
        die(STATUS_USAGE, "%s cannot be read; name the project's folder with --sources", folder);
    book->site.links = memory_new(1, sizeof *book->site.links);
    book->site.links[book->site.count++] =
        (struct html_link){ .file = memory_text("index.html"), .title = memory_text("Lockstep") };
    for (int of_labs = 1; of_labs >= 0; of_labs--) {
        for (int i = 0; i < count; i++) {
            char *stem = memory_text("%s", files[i]->d_name), *dot = strrchr(stem, '.');
            bool is_lesson = dot && strcmp(dot, ".md") == 0 && strcmp(stem, "README.md") != 0;
            if (is_lesson)
                *dot = '\0';
            if (is_lesson && is_lab(stem) == of_labs)
                add_lesson(book, folder, stem);
            free(stem);
        }
        book->labs = of_labs ? book->site.count - 1 : book->labs;
    }
    for (int i = 0; i + 1 < book->site.count; i++)
        lesson_link(&book->lessons[i], book->lessons, book->site.count - 1);
    for (int i = 0; i < count; i++)
        free(files[i]);
    free(files);
}

static char *read_look(const char *sources)
{
    char *path = memory_text("%s/plots/style.css", sources), *text = file_read(path, NULL);
    if (!text)
        die(STATUS_USAGE, "%s cannot be read; name the project's folder with --sources", path);
    free(path);
    return text;
}

/* Open a table that may be missing; end the program if unreadable. */
static struct csv_table open_table(const char *results, const char *name, const char *const *columns)
{
    char *path = memory_text("%s/%s", results, name);
    struct csv_table table = csv_open_if_there(path, columns);
    free(path);
    return table;
}

static const char *const claim_columns[] = { "lab",     "place",    "case",       "id",        "verdict", "quantity",
                                             "came_to", "relation", "value",      "tolerance", "reason",  "why",
                                             "rounds",  "off",      "plus_minus", "unit",      NULL };

static void open_tables(struct book *book)
{
    book->runs = open_table(book->results, "runs.csv", (const char *const[]){ "what", "status", "reason", NULL });
    book->closing =
        open_table(book->results, "closing.csv",
                   (const char *const[]){ "lab", "case", "published_ms", "oversubscribed", "verdict", NULL });
    book->claims = open_table(book->results, "claims.csv", claim_columns);
    book->guesses = open_table(book->results, "guesses.csv", (const char *const[]){ "lab", "case", "guess_ms", NULL });
    book->blind = open_table(book->results, "blind.csv", (const char *const[]){ "lab", "case", "right", NULL });
}

static struct book open_book(const struct options *o)
{
    struct book book = { .results = o->results,
                         .sources = o->sources,
                         .site = { .folder = o->results, .look = read_look(o->sources) } };
    char *folder = memory_text("%s/notebooks-md", o->sources);
    open_lessons(&book, folder);
    free(folder);
    book.findings = memory_new((size_t)book.labs + 1, sizeof *book.findings);
    for (int lab = 0; lab < book.labs; lab++)
        book.findings[lab] = findings_open(o->results, book.lessons[lab].stem);
    book.own = findings_open(o->results, "blame");
    open_tables(&book);
    return book;
}

static void close_book(struct book *book)
{
    for (int i = 0; i < book->site.count; i++) {
        if (i > 0)
            lesson_close(&book->lessons[i - 1]);
        free(book->site.links[i].file);
        free(book->site.links[i].title);
    }
    for (int lab = 0; lab < book->labs; lab++)
        findings_close(&book->findings[lab]);
    findings_close(&book->own);
    struct csv_table *tables[] = { &book->runs, &book->closing, &book->claims, &book->guesses, &book->blind };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        csv_free(tables[i]);
    free(book->findings);
    free(book->lessons);
    free(book->site.links);
    free(book->site.look);
}

/* --- a lesson's page --------------------------------------------------------------------------------------------- */

/* Write links to the existing files of a place. */
static void put_files(FILE *out, const struct finding *f)
{
    static const struct {
        const char *file, *word;
    } files[] = { { "summary.csv", "cases" }, { "ranks.csv", "ranks" },   { "rounds.csv", "rounds" },
                  { "spans.csv", "spans" },   { "memory.csv", "memory" }, { "trace.json", "a trace" } };
    const char *between = "<p>Every number: ";
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *path = memory_text("%s/%s", f->path, files[i].file);
        if (access(path, F_OK) == 0) {
            char *target = memory_text("%s/%s", f->folder, files[i].file);
            fputs(between, out);
            html_link(out, target, files[i].word);
            free(target);
            between = ", ";
        }
        free(path);
    }
    fputs(". The trace opens at <a href=\"https://ui.perfetto.dev\">ui.perfetto.dev</a>.</p>\n", out);
}

/* Write, below the lesson, all charts and tables of a place that the lesson does not show. */
static void put_place(FILE *out, const struct finding *f, struct figures *figures)
{
    char *said = finding_caption(f);
    fputs("<section>\n<h3>", out);
    html_text(out, f->place);
    fputs("</h3>\n<p class=\"note\">", out);
    html_text(out, said);
    fputs("</p>\n", out);
    free(said);
    if (!figure_is_shown(figures, f, "cases"))
        tables_cases(out, f);
    for (int row = 0; row < f->charts.rows; row++) {
        const char *chart = csv_field(&f->charts, row, "chart");
        if (!figure_is_shown(figures, f, chart))
            figure_put(out, figures, f, chart, false);
    }
    tables_memory(out, f);
    put_files(out, f);
    fputs("</section>\n", out);
}

static long write_lesson(struct book *book, int which)
{
    struct lesson *lesson = &book->lessons[which];
    const struct lab_findings *findings = which < book->labs ? &book->findings[which] : NULL;
    struct figures figures = { .results = book->results };
    FILE *page = html_begin(&book->site, which + 1);
    lesson_put(page, lesson, findings, &book->claims, &figures);
    if (findings && findings->count > 0) {
        fputs("<h2>All of this run</h2>\n", page);
        tables_closing(page, &book->closing, lesson->stem, false);
        for (int i = 0; i < findings->count; i++)
            put_place(page, &findings->at[i], &figures);
    }
    if (strcmp(lesson->stem, "your_own_job") == 0 && book->own.count > 0) {
        fputs("<h2>The last results of blame</h2>\n", page);
        put_place(page, &book->own.at[0], &figures);
    }
    figures_close(&figures);
    return html_end(page, &book->site, which + 1);
}

int main(int argc, char **argv)
{
    struct options o = { .results = "results", .sources = "." };
    const struct option_row *const tables[] = { option_rows, NULL };
    options_parse(tables, &o, "report: the results as HTML pages", argc, argv);
    if (access(o.results, R_OK | X_OK) != 0)
        die(STATUS_USAGE, "--results '%s' cannot be read; run a lab first, or name its folder", o.results);
    struct book book = open_book(&o);
    long largest = front_write(&book);
    for (int i = 0; i + 1 < book.site.count; i++) {
        long bytes = write_lesson(&book, i);
        largest = bytes > largest ? bytes : largest;
    }
    file_set_commit(&book.site.pages);
    printf("%d pages, the largest %.2f MB: %s/index.html\n", book.site.count, (double)largest / 1e6, o.results);
    close_book(&book);
    return STATUS_RIGHT;
}
