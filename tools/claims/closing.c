#include "base/memory.h"
#include "judgement.h"

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

/* Return milliseconds of the slowest rank's step: mean over all rounds, as verdicts are; of unjudged places from summary.csv. */
static double step_ms(const struct place *place, int row)
{
    double newest = csv_value(&place->summary, row, "slowest_step_ms");
    if (place->rounds.count == 0 || isnan(newest)) /* blank after a failed check */
        return newest;
    return rounds_mean(&place->rounds, csv_field(&place->summary, row, "case"), "slowest_step_ms");
}

/* Return the worst verdict of both judged places. Set `details`, in new memory, to one phrase if the places agree or only one has
 * the case; else one phrase per place. */
static enum verdict verdict_of_places(const struct lab *lab, const int *rows, char **details)
{
    const char *words[PLACES] = { [DEDICATED] = lab->sources[DEDICATED].word, [HERE] = lab->sources[HERE].word };
    char *phrase[PLACES] = { NULL };
    enum verdict verdict = VERDICTS;
    for (int p = JUDGED; p < PLACES; p++)
        if (rows[p] != ROW_NOT_RUN)
            verdict = judgement_worst(verdict, judgement_row(&lab->places[p], rows[p], &phrase[p]));
    char *simulated = phrase[DEDICATED], *here = phrase[HERE];
    if (simulated && here && strcmp(here, judgement_crowded) == 0) /* the asterisk shows it */
        *details = memory_text("%s: %s", words[DEDICATED], simulated);
    else if (simulated && here && strcmp(simulated, here) != 0)
        *details = memory_text("%s: %s; %s: %s", words[DEDICATED], simulated, words[HERE], here);
    else
        *details = memory_text("%s", simulated ? simulated : here);
    free(simulated);
    free(here);
    return verdict;
}

static struct closing closing_row(const struct lab *lab, const struct csv_table *lead, int row)
{
    struct closing closing = { 0 };
    int rows[PLACES];
    for (int p = 0; p < PLACES; p++) {
        rows[p] = find_alike(lab, p, lead, row);
        closing.ms[p] = step_ms(&lab->places[p], rows[p]);
    }
    closing.is_shared = csv_value(&lab->places[HERE].summary, rows[HERE], "oversubscribed") > 0;
    closing.verdict = verdict_of_places(lab, rows, &closing.details);
    const char *name = csv_field(lead, row, "case");
    if (lead != &lab->places[JUDGED].summary && csv_find(&lab->places[JUDGED].summary, "case", name) >= 0)
        closing.name =
            memory_text("%s, %s x %s", name, csv_field(lead, row, "ranks"), csv_field(lead, row, "batch_size"));
    else
        closing.name = memory_text("%s", name);
    return closing;
}

/* Return the row of all cases together. Its verdict is VERDICTS if no claim is about them. */
static struct closing row_of_all(const struct lab *lab)
{
    struct closing closing = { .name = memory_text("all cases together"), .ms = { NAN, NAN, NAN, NAN } };
    int rows[PLACES];
    for (int p = JUDGED; p < PLACES; p++)
        rows[p] = lab->places[p].is_there ? ROW_ALL : ROW_NOT_RUN;
    closing.verdict = verdict_of_places(lab, rows, &closing.details);
    return closing;
}

static void free_texts(struct closing *row)
{
    free(row->name);
    free(row->details);
}

int closing_open(struct closing **rows, const struct lab *lab)
{
    int most = 0, count = 0;
    for (int p = JUDGED; p < PLACES; p++)
        most += lab->places[p].summary.rows;
    *rows = memory_new((size_t)most + 2, sizeof **rows);
    for (int leading = JUDGED; leading < PLACES; leading++) {
        const struct csv_table *lead = &lab->places[leading].summary;
        for (int row = 0; row < lead->rows; row++)
            if (leading == JUDGED || find_alike(lab, JUDGED, lead, row) < 0)
                (*rows)[count++] = closing_row(lab, lead, row);
    }
    struct closing *all = &(*rows)[count];
    *all = row_of_all(lab);
    if (all->verdict != VERDICTS)
        return count + 1;
    free_texts(all);
    return count;
}

void closing_close(struct closing *rows, int count)
{
    for (int i = 0; i < count; i++)
        free_texts(&rows[i]);
    free(rows);
}
