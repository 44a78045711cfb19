#include "page.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/number.h"
#include "page_lanes.h"
#include "report/html.h"

#include <math.h>
#include <stdlib.h>

/* Return the style sheet of the report's pages, and that of the lanes. */
static char *look_of_page(void)
{
    char *style = file_read(LOCKSTEP_PLOTS "/style.css", NULL); /* NULL: the sources are gone; the page is plain then */
    char *look = memory_text("%s\n%s", style ? style : "", page_lanes_look);
    free(style);
    return look;
}

static void put_paragraph(FILE *out, const char *class_name, const char *text)
{
    if (class_name)
        fprintf(out, "<p class=\"%s\">", class_name);
    else
        fputs("<p>", out);
    html_text(out, text);
    fputs("</p>\n", out);
}

static void put_question(FILE *out, const struct answer *a, const char *why_withdrawn)
{
    const struct case_stats *stats = &a->shown->stats;
    const struct timeline *t = &a->shown->picture;
    char *sentence = answer_sentence(a);
    fputs("<h1>Who waits for whom?</h1>\n", out);
    put_paragraph(out, "lead", sentence);
    if (why_withdrawn)
        put_paragraph(out, NULL, why_withdrawn);
    fputs("<p class=\"note\">", out);
    html_text(out, a->file->path);
    fprintf(out, ": case %s, %d ranks, %d steps from step %d on, %d round%s.", a->shown->name, stats->ranks,
            stats->steps, t->first_step, stats->rounds, stats->rounds == 1 ? "" : "s");
    if (t->clock_error > 0)
        fprintf(out, " Clocks may differ by %.3g ms: shorter waits count as transfer.", 1e3 * t->clock_error);
    if (a->file->missing_ranks > 0)
        fprintf(out, " %d ranks have no trace, so waits are lower bounds.", a->file->missing_ranks);
    fputs("</p>\n", out);
    free(sentence);
}

static void put_rank(FILE *out, const struct answer *a, int rank, int collectives)
{
    const struct case_stats *stats = &a->shown->stats;
    const struct cell *sum = &stats->sum[rank];
    const int decimals = number_ms_decimals(a->shown->summary.slowest_step);
    char *name = memory_text("%d", timeline_rank(&a->shown->picture, rank));
    html_row(out);
    html_cell(out, name);
    if (a->hosts.count > 0)
        html_cell(out, a->hosts.names[a->hosts.of[rank]]);
    html_number(out, 1e3 * sum->step / stats->steps, decimals);
    for (int phase = 0; phase < SPAN_PHASES; phase++)
        html_number(out, 1e3 * sum->phase[phase] / stats->steps, decimals);
    html_number(out, 1e3 * sum->wait / stats->steps, decimals);
    html_number(out, 1e3 * sum->transfer / stats->steps, decimals);
    html_number(out, 1e3 * sum->caused / stats->steps, decimals);
    html_number(out, collectives > 0 ? 100.0 * sum->last / collectives : (double)NAN, 0);
    free(name);
}

static void put_ranks(FILE *out, const struct answer *a)
{
    const struct case_stats *stats = &a->shown->stats;
    const int collectives = case_stats_last_arrivals(stats);
    fputs("<h2>Rank by rank</h2>\n", out);
    html_table(out, "Milliseconds a step");
    html_row(out);
    html_head(out, "rank");
    if (a->hosts.count > 0)
        html_head(out, "host");
    html_head(out, "step");
    for (int phase = 0; phase < SPAN_PHASES; phase++)
        html_head(out, culprit_phase_name(phase));
    static const char *const rest[] = { "wait", "transfer", "caused", "last" };
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        html_head(out, rest[i]);
    for (int rank = 0; rank < stats->ranks; rank++)
        put_rank(out, a, rank, collectives);
    html_table_end(out);
    put_paragraph(
        out, "note",
        "caused: waiting of all other ranks, charged to this rank. last: percent of the collectives with a single "
        "last rank in which it was this rank.");
}

static void put_fixes(FILE *out, const struct answer *a)
{
    static const char *const heads[] = { "fix", "a step would take, ms", "gain, ms", "gain, %" };
    const struct fixes *fixes = &a->fixes;
    const int decimals = number_ms_decimals(fixes->step);
    fputs("<h2>Fix this, gain that</h2>\n", out);
    if (!fixes->are_known || fixes->count == 0) {
        put_paragraph(out, NULL,
                      !fixes->are_known ? "The steps cannot be replayed, so no gain is known."
                                        : "No single fix gains more than noise.");
        return;
    }
    char *caption =
        memory_text("A step takes %.*f ms. What is fixed becomes as fast as the median of the others; the step is "
                    "computed from this recording.",
                    decimals, 1e3 * fixes->step);
    html_table(out, caption);
    html_heads(out, heads, sizeof heads / sizeof *heads);
    for (int i = 0; i < fixes->count; i++) {
        const struct fix *fix = &fixes->at[i];
        char *name = fix_name(fix, a->shown, &a->hosts);
        html_row(out);
        html_cell(out, name);
        html_number(out, 1e3 * (fixes->step - fix->gain), decimals);
        html_number(out, 1e3 * fix->gain, decimals);
        html_number(out, 100 * fix->gain / fixes->step, 0);
        free(name);
    }
    html_table_end(out);
    free(caption);
}

static void put_hint(FILE *out, const struct answer *a)
{
    fputs("<h2>What to try</h2>\n", out);
    put_paragraph(out, NULL, a->hint.next);
    if (a->hint.remedy) {
        fputs("<p><strong>In PyTorch:</strong> ", out);
        html_text(out, a->hint.remedy);
        fputs("</p>\n", out);
    }
    if (a->hint.lesson)
        fprintf(out,
                "<p class=\"note\">Lesson: <code>notebooks-md/%s.md</code>; all switches: "
                "<code>notebooks-md/cheat_sheet.md</code>.</p>\n",
                a->hint.lesson);
}

static void put_comparison(FILE *out, const struct answer *a, const struct comparison *comparison)
{
    if (!comparison->path)
        return;
    char *text = comparison_text(comparison, a);
    fputs("<h2>After the fix</h2>\n", out);
    put_paragraph(out, NULL, text);
    free(text);
}

void page_write(const struct answer *a, const char *why_withdrawn, const struct comparison *comparison)
{
    char file[] = "page.html", *title = memory_text("Who waits for whom: %s", a->shown->name);
    struct html_link link = { .file = file, .title = title };
    struct html_site site = { .folder = a->report->folder, .look = look_of_page(), .links = &link, .count = 1 };
    FILE *out = html_begin(&site, 0);
    put_question(out, a, why_withdrawn);
    if (!a->shown->stats.wrong.count) {
        fputs("<h2>A typical step</h2>\n", out);
        page_lanes(out, a);
        put_ranks(out, a);
        put_fixes(out, a);
        put_hint(out, a);
        put_comparison(out, a, comparison);
    }
    html_end(out, &site, 0);
    file_set_commit(&site.pages);
    free(site.look);
    free(title);
}
