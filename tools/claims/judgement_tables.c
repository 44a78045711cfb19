#include "judgement.h"

#include <math.h>

static void put_closing(struct csv *csv, const char *lab, const struct closing *row)
{
    csv_text(csv, "lab", lab);
    csv_text(csv, "case", row->name);
    csv_number(csv, "published_ms", row->ms[PUBLISHED]);
    csv_number(csv, "blog_machine_ms", row->ms[BLOG]);
    csv_number(csv, "dedicated_cores_ms", row->ms[DEDICATED]);
    csv_number(csv, "here_ms", row->ms[HERE]);
    csv_integer(csv, "oversubscribed", row->is_shared);
    csv_text(csv, "verdict", row->verdict == VERDICTS ? "" : verdict_words[row->verdict]);
    csv_text(csv, "details", row->details);
}

static void put_judgement(struct csv *csv, const char *lab, const struct place *place, const char *word,
                          const struct judgement *j)
{
    const bool is_by_rounds = j->evidence.rounds > 0;
    csv_text(csv, "lab", lab);
    csv_text(csv, "place", word);
    csv_text(csv, "case", judgement_case(place, j));
    csv_text(csv, "id", j->claim.id);
    csv_text(csv, "kind", kind_words[j->claim.kind]);
    csv_text(csv, "verdict", j->claim.kind == EXAMPLE ? "shown" : verdict_words[j->verdict]);
    csv_text(csv, "quantity", j->claim.quantity);
    csv_text(csv, "came_to", j->shown.quantity);
    csv_text(csv, "relation", relation_words[j->claim.relation]);
    csv_text(csv, "value", j->shown.value);
    csv_number(csv, "tolerance", j->claim.tolerance);
    csv_text(csv, "reason", j->reason);
    csv_text(csv, "why", j->claim.why);
    csv_number(csv, "rounds", is_by_rounds ? j->evidence.rounds : (double)NAN);
    csv_ratio(csv, "off", is_by_rounds ? j->distance.off : (double)NAN);
    csv_ratio(csv, "plus_minus", is_by_rounds ? j->distance.plus_minus : (double)NAN);
    csv_text(csv, "unit", !is_by_rounds ? "" : j->distance.is_percent ? "%" : "ms");
    csv_number(csv, "more_rounds", j->more_rounds > 0 ? j->more_rounds : (double)NAN);
    csv_number(csv, "rounds_to_notice", j->rounds_to_notice >= 0 ? j->rounds_to_notice : (double)NAN);
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
                put_judgement(claims, lab->name, &lab->places[p], lab->sources[p].word, &lab->places[p].judgements[i]);
            while (csv_end_row(claims));
}
