#include "verdicts.h"

#include "base/memory.h"
#include "claims/sentence.h"
#include "html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- marks ------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *mark, *look; /* class of the style sheet */
} looks[VERDICTS] = {
    [HOLDS] = { "✓", "right" },     [AS_PREDICTED] = { "✓", "right" }, [FAILS] = { "✗", "wrong" },
    [WRONG] = { "✗", "wrong" },     [TOO_NOISY] = { "?", "open" },     [DISTURBED] = { "≈", "open" },
    [UNTESTABLE] = { "–", "open" },
};

/* Return the verdict of a word; VERDICTS for any other word, such as that of an example. */
static enum verdict verdict_of_word(const char *word)
{
    int verdict = 0;
    while (verdict < VERDICTS && strcmp(verdict_words[verdict], word) != 0)
        verdict++;
    return (enum verdict)verdict;
}

void verdicts_cell(FILE *out, const char *word, const char *details)
{
    enum verdict verdict = verdict_of_word(word);
    const char *text = details && *details ? details : word;
    if (verdict == VERDICTS) {
        html_long_cell(out, text);
        return;
    }
    fprintf(out, "<td class=\"long %s\"><span aria-hidden=\"true\">%s</span> ", looks[verdict].look,
            looks[verdict].mark);
    html_text(out, text);
    fputs("</td>", out);
}

/* --- claims ------------------------------------------------------------------------------------------------------ */

static bool is_of_lab(const struct csv_table *claims, int row, const char *lab)
{
    return !lab || strcmp(csv_field(claims, row, "lab"), lab) == 0;
}

/* Count a lab's claims by verdict. Return their number. */
static int count_verdicts(const struct csv_table *claims, const char *lab, struct verdict_counts *counts)
{
    int all = 0;
    for (int row = 0; row < claims->rows; row++) {
        enum verdict verdict = verdict_of_word(csv_field(claims, row, "verdict"));
        if (verdict == VERDICTS || !is_of_lab(claims, row, lab))
            continue;
        const double rounds = csv_value(claims, row, "rounds"), notice = csv_value(claims, row, "rounds_to_notice");
        verdict_count(counts, verdict, isnan(rounds) ? 0 : (int)rounds, isnan(notice) ? -1 : (int)notice);
        all++;
    }
    return all;
}

/* Return a field, rounded to four digits if a fraction. Free it. */
static char *short_of(const struct csv_table *table, int row, const char *column)
{
    double value = csv_value(table, row, column);
    const char *field = csv_field(table, row, column);
    return isnan(value) || value == floor(value) ? memory_text("%s", field) : memory_text("%.4g", value);
}

/* Return "; off +22 % ± 5 in 6 rounds" in new memory; "" for a claim that was not judged by rounds. */
static char *distance_of(const struct csv_table *claims, int row)
{
    double off = csv_value(claims, row, "off"), half = csv_value(claims, row, "plus_minus");
    double rounds = csv_value(claims, row, "rounds");
    if (isnan(off))
        return memory_text("%s", "");
    char *interval = half > 0 ? memory_text(" ± %.2g", half) : memory_text("%s", "");
    char *text = memory_text("; off %+.3g %s%s in %.0f round%s", off, csv_field(claims, row, "unit"), interval, rounds,
                             rounds == 1 ? "" : "s");
    free(interval);
    return text;
}

/* Write the row of a claim: "slowest_step_ms is 53.54, must be ~ 65.87 within 0.1; off -19 % ± 2 in 6 rounds", and why. */
static void put_claim(FILE *out, const struct csv_table *claims, int row)
{
    static const char *const words[] = { "lab", "case", "place", "id" };
    const char *reason = csv_field(claims, row, "reason");
    double tolerance = csv_value(claims, row, "tolerance");
    html_row(out);
    verdicts_cell(out, csv_field(claims, row, "verdict"), NULL);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        html_cell(out, csv_field(claims, row, words[i]));
    char *came_to = short_of(claims, row, "came_to"), *value = short_of(claims, row, "value");
    char *within = tolerance > 0 ? memory_text(" within %g", tolerance) : memory_text("%s", "");
    char *distance = distance_of(claims, row);
    char *text = memory_text("%s is %s, must be %s %s%s%s%s%s", csv_field(claims, row, "quantity"), came_to,
                             csv_field(claims, row, "relation"), value, within, distance, *reason ? "; " : "", reason);
    html_long_cell(out, text);
    html_long_cell(out, csv_field(claims, row, "why"));
    free(text);
    free(distance);
    free(within);
    free(came_to);
    free(value);
}

static bool is_failure(const struct csv_table *claims, int row)
{
    enum verdict verdict = verdict_of_word(csv_field(claims, row, "verdict"));
    return verdict == FAILS || verdict == WRONG;
}

static void put_claims(FILE *out, const char *caption, const struct csv_table *claims, const char *lab,
                       bool failures_only)
{
    static const char *const heads[] = { "verdict", "lab", "case", "place", "claim", "result", "why" };
    html_table(out, caption);
    html_heads(out, heads, sizeof heads / sizeof *heads);
    for (int row = 0; row < claims->rows; row++)
        if (is_of_lab(claims, row, lab) && (!failures_only || is_failure(claims, row)))
            put_claim(out, claims, row);
    html_table_end(out);
}

bool verdicts_sentence(FILE *out, const struct csv_table *claims, const char *lab)
{
    struct verdict_counts counts = { .once = 0 };
    if (count_verdicts(claims, lab, &counts) == 0)
        return false;
    char *sentence = sentence_of(&counts);
    fprintf(out, "<p class=\"verdicts\">%s</p>\n", sentence);
    free(sentence);
    return true;
}

void verdicts_failures(FILE *out, const struct csv_table *claims, const char *lab)
{
    struct verdict_counts counts = { .once = 0 };
    count_verdicts(claims, lab, &counts);
    if (counts.of[FAILS] + counts.of[WRONG] == 0)
        return;
    fputs("<details><summary>Those that fail or are wrong, each with its result and why it should hold</summary>\n",
          out);
    put_claims(out, "Claims that fail or are wrong", claims, lab, true);
    fputs("</details>\n", out);
}

bool verdicts_of_lab(FILE *out, const struct csv_table *claims, const char *lab)
{
    if (!verdicts_sentence(out, claims, lab))
        return false;
    verdicts_failures(out, claims, lab);
    fputs("<details><summary>All of them</summary>\n", out);
    put_claims(out, "Claims and their verdicts", claims, lab, false);
    fputs("</details>\n", out);
    return true;
}
