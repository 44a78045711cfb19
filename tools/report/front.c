#include "front.h"

#include "base/memory.h"
#include "front_lab.h"
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
    char *ranks = finding_comment(f, "ranks", 0);
    html_number(out, ranks ? strtod(ranks, NULL) : NAN, 0);
    free(ranks);
    html_number(out, f->summary.rows, 0);
    html_number(out, csv_value(&f->summary, 0, "rounds"), 0);
    html_number(out, failed_checks(f), 0);
    html_cell(out, when);
}

/* Write in one sentence what ran and if the checks hold, and the claims that fail. */
static void put_checks(FILE *out, const struct book *book)
{
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
    if (runs == 0)
        return;
    fprintf(out, "<p>%d of %d labs ran, %d times in all, here and on simulated machines. ", labs, book->labs, runs);
    if (checked > 0 && wrong > 0)
        fprintf(out, "<strong>%.0f checks of sums, losses and replicas failed</strong>.</p>\n", wrong);
    else if (checked > 0)
        fputs("All checked sums, losses and replicas are right.</p>\n", out);
    else
        fputs("Nothing was computed, so nothing was checked.</p>\n", out);
    verdicts_failures(out, &book->claims, NULL);
}

/* Write a row for each run. */
static void put_runs(FILE *out, const struct book *book)
{
    static const char *const heads[] = { "lab", "where", "ranks", "cases", "rounds", "failed checks", "when" };
    bool has_any = false;
    for (int lab = 0; lab < book->labs; lab++)
        for (int i = 0; i < book->findings[lab].count; i++) {
            if (!has_any) {
                html_table(out, "Each run: where, how much, when");
                html_heads(out, heads, sizeof heads / sizeof *heads);
            }
            has_any = true;
            put_run(out, book, lab, &book->findings[lab].at[i]);
        }
    if (has_any)
        html_table_end(out);
    else
        fputs("<p class=\"note\">Nothing yet: <code>./run_all.sh</code> runs every lab.</p>\n", out);
}

/* Write the parts with this status in the last run_all.sh, "failed" or "skipped", with reasons. */
static void put_trouble(FILE *out, const struct book *book, const char *status)
{
    bool has_any = false, is_failed = strcmp(status, "failed") == 0;
    for (int row = 0; row < book->runs.rows; row++) {
        if (strcmp(csv_field(&book->runs, row, "status"), status) != 0)
            continue;
        if (!has_any)
            fprintf(out, "<section class=\"%s\">\n<h3>What %s</h3>\n<ul>\n", is_failed ? "bad" : "note",
                    is_failed ? "failed" : "was skipped");
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

/* --- the machine ------------------------------------------------------------------------------------------------- */

/* Write the machine card from the comments of the summary. */
static void put_card(FILE *out, const struct finding *finding)
{
    char *line = NULL;
    fputs("<section>\n<h3>", out);
    html_text(out, finding->place);
    fputs("</h3>\n<pre>", out);
    for (int n = 0; (line = finding_comment(finding, "card", n)); n++) {
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
    fputs("<p class=\"lead\">Each lab trains a network on several ranks, breaks it in one known way, predicts the "
          "cost, measures "
          "or simulates it, and tries fixes. A lab's name leads to its lesson, with all charts and tables of this "
          "run.</p>\n",
          out);
    put_checks(out, book);
    put_trouble(out, book, "failed");
    fputs("<h2>What was asked, and what was found</h2>\n", out);
    for (int lab = 0; lab < book->labs; lab++)
        front_lab(out, book, lab, &figures);
    fputs("<h2>The published numbers, and this machine's</h2>\n", out);
    put_closing(out, book);
    fputs("<h2>Your guesses</h2>\n", out);
    put_guesses(out, book);
    fputs("<h2>What ran</h2>\n", out);
    put_runs(out, book);
    put_trouble(out, book, "skipped");
    fputs("<h2>The machine card</h2>\n<p>What each machine does without a fault. Predictions are computed from it, and "
          "never from "
          "the run that they predict.</p>\n",
          out);
    put_cards(out, book);
    figures_close(&figures);
    return html_end(out, &book->site, 0);
}
