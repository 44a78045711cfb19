#include "front.h"

#include "base/memory.h"
#include "base/number.h"
#include "figure.h"
#include "tables.h"
#include "verdicts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- what ran ---------------------------------------------------------------------------------------------------- */

/* Return the number of failed checks; NaN if nothing was checked, as on modelled machines, which compute nothing. */
static double failed_checks(const struct finding *f)
{
    double wrong = NAN;
    for (int row = 0; row < f->summary.rows; row++) {
        double here = csv_value(&f->summary, row, "wrong");
        wrong = isnan(wrong) ? here : isnan(here) ? wrong : wrong + here;
    }
    return wrong;
}

static void put_run(FILE *out, const struct book *book, int lab, const struct finding *f)
{
    char when[FINDING_WHEN];
    finding_when(f, when);
    html_row(out);
    fputs("<td>", out);
    html_link(out, book->site.links[lab + 1].file, book->findings[lab].lab);
    fputs("</td>", out);
    html_cell(out, f->place);
    char *ranks = finding_told(f, "ranks", 0);
    html_number(out, ranks ? strtod(ranks, NULL) : NAN, 0);
    free(ranks);
    html_number(out, f->summary.rows, 0);
    html_number(out, csv_value(&f->summary, 0, "rounds"), 0);
    html_number(out, failed_checks(f), 0);
    html_cell(out, when);
}

/* Write a summary sentence and a collapsed table of all runs. */
static void put_runs(FILE *out, const struct book *book)
{
    static const char *const heads[] = { "lab", "where", "ranks", "cases", "rounds", "failed checks", "when" };
    int labs = 0, runs = 0, checked = 0;
    double wrong = 0;
    for (int lab = 0; lab < book->labs; lab++) {
        labs += book->findings[lab].count > 0;
        runs += book->findings[lab].count;
        for (int i = 0; i < book->findings[lab].count; i++) {
            double failed = failed_checks(&book->findings[lab].at[i]);
            checked += !isnan(failed);
            wrong += isnan(failed) ? 0 : failed;
        }
    }
    if (runs == 0) {
        fputs("<p class=\"note\">Nothing yet: <code>./run_all.sh</code> runs every lab.</p>\n", out);
        return;
    }
    fprintf(out, "<p>%d of %d labs ran, %d times in all, here and on simulated machines. ", labs, book->labs, runs);
    if (checked > 0 && wrong > 0)
        fprintf(out, "<strong>%.0f checks of sums, losses and replicas failed</strong>.</p>\n", wrong);
    else if (checked > 0)
        fputs("Every sum, loss and replica that was checked is right.</p>\n", out);
    else
        fputs("Nothing was computed, so nothing was checked.</p>\n", out);
    verdicts_failures(out, &book->claims, NULL);
    fputs("<details><summary>Each run: where, how much, when</summary>\n", out);
    html_table(out, "Each run: where, how much, when");
    html_heads(out, heads, sizeof heads / sizeof *heads);
    for (int lab = 0; lab < book->labs; lab++)
        for (int i = 0; i < book->findings[lab].count; i++)
            put_run(out, book, lab, &book->findings[lab].at[i]);
    html_table_end(out);
    fputs("</details>\n", out);
}

/* Write what failed and what was skipped in the last run_all.sh, with reasons. */
static void put_trouble(FILE *out, const struct book *book)
{
    static const struct {
        const char *status, *heading, *look;
    } kinds[] = { { "failed", "What failed", "bad" }, { "skipped", "What was skipped", "note" } };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        bool has_any = false;
        for (int row = 0; row < book->runs.rows; row++) {
            if (strcmp(csv_field(&book->runs, row, "status"), kinds[k].status) != 0)
                continue;
            if (!has_any)
                fprintf(out, "<section class=\"%s\">\n<h3>%s</h3>\n<ul>\n", kinds[k].look, kinds[k].heading);
            has_any = true;
            fputs("<li><strong>", out);
            html_text(out, csv_field(&book->runs, row, "what"));
            fputs("</strong>: ", out);
            html_text(out, csv_field(&book->runs, row, "reason"));
            fputs("</li>\n", out);
        }
        if (has_any)
            fputs("</ul>\n</section>\n", out);
    }
}

/* --- the machine ------------------------------------------------------------------------------------------------- */

/* Write the machine card from the comments of the summary. */
static void put_card(FILE *out, const struct finding *finding)
{
    char *line = NULL;
    fputs("<section>\n<h3>", out);
    html_text(out, finding->place);
    fputs("</h3>\n<pre>", out);
    for (int n = 0; (line = finding_told(finding, "card", n)); n++) {
        html_text(out, line);
        fputc('\n', out);
        free(line);
    }
    fputs("</pre>\n</section>\n", out);
}

/* True if an earlier lab showed the card of this platform. */
static bool was_card_shown(const struct book *book, int lab, const char *platform)
{
    for (int before = 0; before < lab; before++)
        for (int i = 0; i < book->findings[before].count; i++)
            if (strcmp(book->findings[before].at[i].platform, platform) == 0)
                return true;
    return false;
}

/* Write the card of each platform, from the first lab that ran there. */
static void put_cards(FILE *out, const struct book *book)
{
    for (int lab = 0; lab < book->labs; lab++)
        for (int i = 0; i < book->findings[lab].count; i++)
            if (!was_card_shown(book, lab, book->findings[lab].at[i].platform))
                put_card(out, &book->findings[lab].at[i]);
}

/* --- the labs ---------------------------------------------------------------------------------------------------- */

/* Parts of a step, means over ranks; they add up to the mean step. */
static const struct {
    const char *column, *word;
} terms[] = { { "data_ms", "data" },
              { "local_ms", "compute" },
              { "host_ms", "host" },
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

/* Write "skew_ws4 takes 84.3 ms a step, baseline 47.3: +9.6 data, +27.4 waiting." Parts below a tenth of the difference are
 * omitted. */
static void put_difference(FILE *out, const struct csv_table *summary, int row)
{
    double step = mean_step(summary, row), before = mean_step(summary, 0);
    int decimals = number_ms_decimals(1e-3 * step);
    fputs("<code>", out);
    html_text(out, csv_field(summary, row, "case"));
    fprintf(out, "</code> takes %.*f ms a step, <code>", decimals, step);
    html_text(out, csv_field(summary, 0, "case"));
    fprintf(out, "</code> %.*f", decimals, before);
    const char *between = ": ";
    for (int i = 0; i < TERMS; i++) {
        double more = csv_value(summary, row, terms[i].column) - csv_value(summary, 0, terms[i].column);
        if (fabs(more) < 0.1 * fabs(step - before))
            continue;
        fprintf(out, "%s%+.*f %s", between, decimals, more, terms[i].word);
        between = ", ";
    }
    fputs(". ", out);
}

/* Write a sentence about the case that the prompt asks about. `says_where` adds the place, if no chart above names it. */
static void put_sentence(FILE *out, const struct finding *f, bool says_where)
{
    char *asked = finding_told(f, "asked", 0);
    int row = asked ? csv_find(&f->summary, "case", asked) : -1;
    bool is_usable = row > 0 && !isnan(mean_step(&f->summary, row)) && !isnan(mean_step(&f->summary, 0)) &&
                     !finding_is_wrong(f, row) && !finding_is_wrong(f, 0);
    free(asked);
    if (!is_usable)
        return;
    fputs("<p class=\"quote\">", out);
    if (says_where) {
        html_text(out, f->place);
        fputs(": ", out);
    }
    put_difference(out, &f->summary, row);
    double waited = csv_value(&f->summary, row, "blamed_wait_ms") / mean_step(&f->summary, row);
    double share = 100 * waited / csv_value(&f->summary, row, "ranks");
    double blamed = csv_value(&f->summary, row, "blamed_rank");
    char *gpus = finding_told(f, "GPUs", 0);
    if (share >= 0.5 && !isnan(blamed)) /* false for NaN */
        fprintf(out, "Of every 100 %s-seconds, %.0f waited for rank %.0f.",
                gpus              ? "GPU"
                : f->is_simulated ? "simulated core"
                                  : "core",
                share, blamed);
    free(gpus);
    fputs("</p>\n", out);
}

static void put_lab(FILE *out, const struct book *book, int lab, struct figures *figures)
{
    const struct lesson *lesson = &book->lessons[lab];
    const struct lab_findings *findings = &book->findings[lab];
    fputs("<section>\n<h3>", out);
    html_link(out, book->site.links[lab + 1].file, lesson->title);
    fputs("</h3>\n", out);
    char *question = lesson_section(lesson, 1), *chart = lesson_first_chart(lesson);
    fputs(question, out);
    const struct finding *shown = NULL; /* first place that has the chart: a lab started by hand draws none */
    for (int i = 0; chart && i < findings->count && !shown; i++)
        shown = figure_put(out, figures, &findings->at[i], chart, true) ? &findings->at[i] : NULL;
    if (findings->count == 0)
        fputs("<p class=\"note\">Not run yet.</p>\n", out);
    else
        put_sentence(out, shown ? shown : &findings->at[0], !shown);
    fputs("</section>\n", out);
    free(question);
    free(chart);
}

/* --- the page ---------------------------------------------------------------------------------------------------- */

static void put_closing(FILE *out, const struct book *book)
{
    if (book->closing.rows == 0) {
        fputs("<p class=\"note\">Nothing was compared yet: run <code>./run_all.sh</code>.</p>\n", out);
        return;
    }
    tables_closing(out, &book->closing, NULL, true);
    fputs("<details><summary>Every case of every lab, and the verdict on its claims</summary>\n", out);
    tables_closing(out, &book->closing, NULL, false);
    fputs("</details>\n", out);
}

static void put_guesses(FILE *out, const struct book *book)
{
    if (book->guesses.rows > 0)
        tables_guesses(out, &book->guesses);
    if (book->blind.rows > 0)
        tables_blind(out, &book->blind);
    if (book->guesses.rows + book->blind.rows == 0)
        fputs("<p class=\"note\">None yet. A lab started by hand asks for your guess first: "
              "<code>build/bin/01_straggler</code>. With <code>--blind</code> it hides the case that runs.</p>\n",
              out);
}

long front_write(struct book *book)
{
    struct figures figures = { .results = book->results };
    FILE *out = html_begin(&book->site, 0);
    fputs("<h1>Why is my distributed training job slow?</h1>\n", out);
    verdicts_sentence(out, &book->claims, NULL);
    fputs("<p class=\"lead\">Each lab trains a network on several ranks, "
          "breaks it in one well-known way at a time, predicts what that must cost, and measures or simulates it. This "
          "page shows the results; each lab's page has its lesson with this run's charts and tables.</p>\n"
          "<h2>What ran</h2>\n",
          out);
    put_runs(out, book);
    put_trouble(out, book);
    fputs("<h2>The labs</h2>\n", out);
    for (int lab = 0; lab < book->labs; lab++)
        put_lab(out, book, lab, &figures);
    fputs("<h2>The published numbers, and this machine's</h2>\n", out);
    put_closing(out, book);
    fputs("<h2>Your guesses</h2>\n", out);
    put_guesses(out, book);
    fputs("<h2>The machine card</h2>\n<p>What each machine does when nothing is wrong. Predictions see this, and never "
          "the "
          "run that they predict.</p>\n",
          out);
    put_cards(out, book);
    figures_close(&figures);
    return html_end(out, &book->site, 0);
}
