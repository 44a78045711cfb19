#include "judgement.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Return the place's row with the case and size of `lead`'s row; -1 if none. */
static int find_alike(const struct lab *lab, int p, const struct csv_table *lead, int lead_row)
{
    static const char *const columns[] = { "case", "ranks", "batch_size" };
    const struct csv_table *table = &lab->places[p].summary;
    for (int row = 0; row < table->rows; row++) {
        bool is_alike = p != PUBLISHED || strcmp(csv_field(table, row, "lab"), lab->name) == 0;
        for (int i = 0; i < 3; i++)
            is_alike &= strcmp(csv_field(table, row, columns[i]), csv_field(lead, lead_row, columns[i])) == 0;
        if (is_alike)
            return row;
    }
    return -1;
}

/* Return, in new memory, the failing claims of a row; else why one is untestable; else if the prediction was met. */
static char *row_phrase(const struct place *place, int row)
{
    const char *untestable = NULL, *phrase = "no claim";
    char *fails = NULL;
    for (const struct judgement *j = place->judgements; j < place->judgements + place->count; j++) {
        if (j->row != row || j->claim.kind == EXAMPLE)
            continue;
        if (j->verdict == FAILS) {
            char *before = fails;
            fails = before ? memory_text("%s, %s", before, j->claim.id) : memory_text("fails: %s", j->claim.id);
            free(before);
        } else if (j->verdict == UNTESTABLE) {
            if (j->claim.needs != NEEDS_SIM && j->claim.needs != NEEDS_GPU &&
                j->claim.needs != NEEDS_PUBLISHED) /* these needs concern another place or run */
                untestable = j->reason;
        } else if (strstr(j->claim.value, "predicted_step_ms")) {
            phrase = "as predicted";
        } else if (strcmp(phrase, "no claim") == 0) {
            phrase = "holds";
        }
    }
    return fails ? fails : memory_text("%s", untestable ? untestable : phrase);
}

/* Return, in new memory, one phrase if the places agree or only one has the case; else one phrase per place. */
static char *verdict_phrase(const struct lab *lab, const int *rows)
{
    char *simulated = rows[DEDICATED] < 0 ? NULL : row_phrase(&lab->places[DEDICATED], rows[DEDICATED]);
    char *here = rows[HERE] < 0 ? NULL : row_phrase(&lab->places[HERE], rows[HERE]);
    char *phrase = NULL;
    if (simulated && here && strcmp(here, judgement_crowded) == 0) /* the asterisk shows it */
        phrase = memory_text("%s: %s", place_words[DEDICATED], simulated);
    else if (simulated && here && strcmp(simulated, here) != 0)
        phrase = memory_text("%s: %s; %s: %s", place_words[DEDICATED], simulated, place_words[HERE], here);
    else
        phrase = memory_text("%s", simulated ? simulated : here);
    free(simulated);
    free(here);
    return phrase;
}

static struct closing closing_row(const struct lab *lab, const struct csv_table *lead, int row)
{
    struct closing closing = { 0 };
    int rows[PLACES];
    for (int p = 0; p < PLACES; p++) {
        rows[p] = find_alike(lab, p, lead, row);
        closing.ms[p] = csv_value(&lab->places[p].summary, rows[p], "slowest_step_ms");
    }
    closing.is_shared = csv_value(&lab->places[HERE].summary, rows[HERE], "oversubscribed") > 0;
    closing.verdict = verdict_phrase(lab, rows);
    const char *name = csv_field(lead, row, "case");
    if (lead != &lab->places[JUDGED].summary && csv_find(&lab->places[JUDGED].summary, "case", name) >= 0)
        closing.name =
            memory_text("%s, %s x %s", name, csv_field(lead, row, "ranks"), csv_field(lead, row, "batch_size"));
    else
        closing.name = memory_text("%s", name);
    return closing;
}

int closing_open(struct closing **rows, const struct lab *lab)
{
    int most = 0, count = 0;
    for (int p = JUDGED; p < PLACES; p++)
        most += lab->places[p].summary.rows;
    *rows = memory_new((size_t)most + 1, sizeof **rows);
    for (int leading = JUDGED; leading < PLACES; leading++) {
        const struct csv_table *lead = &lab->places[leading].summary;
        for (int row = 0; row < lead->rows; row++)
            if (leading == JUDGED || find_alike(lab, JUDGED, lead, row) < 0)
                (*rows)[count++] = closing_row(lab, lead, row);
    }
    return count;
}

void closing_close(struct closing *rows, int count)
{
    for (int i = 0; i < count; i++) {
        free(rows[i].name);
        free(rows[i].verdict);
    }
    free(rows);
}

/* --- as tables -------------------------------------------------------------------------------------------------- */

static void put_closing(struct csv *csv, const char *lab, const struct closing *row)
{
    csv_text(csv, "lab", lab);
    csv_text(csv, "case", row->name);
    csv_number(csv, "published_ms", row->ms[PUBLISHED]);
    csv_number(csv, "blog_machine_ms", row->ms[BLOG]);
    csv_number(csv, "dedicated_cores_ms", row->ms[DEDICATED]);
    csv_number(csv, "here_ms", row->ms[HERE]);
    csv_integer(csv, "oversubscribed", row->is_shared);
    csv_text(csv, "verdict", row->verdict);
}

static void put_judgement(struct csv *csv, const char *lab, const struct place *place, const char *word,
                          const struct judgement *j)
{
    static const char *const verdicts[VERDICTS] = { "holds", "fails", "not testable" };
    csv_text(csv, "lab", lab);
    csv_text(csv, "place", word);
    csv_text(csv, "case", j->row < 0 ? "" : csv_field(&place->summary, j->row, "case"));
    csv_text(csv, "id", j->claim.id);
    csv_text(csv, "kind", kind_words[j->claim.kind]);
    csv_text(csv, "verdict", j->claim.kind == EXAMPLE ? "shown" : verdicts[j->verdict]);
    csv_text(csv, "quantity", j->claim.quantity);
    csv_text(csv, "came_to", j->shown.quantity);
    csv_text(csv, "relation", relation_words[j->claim.relation]);
    csv_text(csv, "value", j->shown.value);
    csv_number(csv, "tolerance", j->claim.tolerance);
    csv_text(csv, "reason", j->reason);
    csv_text(csv, "why", j->claim.why);
}

void judgement_write(struct csv *closing, struct csv *claims, const struct lab *lab)
{
    struct closing *rows = NULL;
    int count = closing_open(&rows, lab);
    for (int i = 0; i < count; i++)
        do
            put_closing(closing, lab->name, &rows[i]);
        while (csv_end_row(closing));
    closing_close(rows, count);
    for (int p = JUDGED; p < PLACES; p++)
        for (int i = 0; i < lab->places[p].count; i++)
            do
                put_judgement(claims, lab->name, &lab->places[p], place_words[p], &lab->places[p].judgements[i]);
            while (csv_end_row(claims));
}
