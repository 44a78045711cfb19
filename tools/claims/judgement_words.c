#include "base/memory.h"
#include "judgement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- distances --------------------------------------------------------------------------------------------------- */

/* Print a distance: "+22 % ± 5", "0.4 % ± 0.2", "-0.3 ms ± 0.1". Without sign, its absolute value. */
static void put_distance(FILE *out, const struct distance *d, bool is_signed)
{
    bool has_interval = d->plus_minus > 0; /* false for NaN */
    bool is_small = fabs(d->off) < 0.95 || (has_interval && d->plus_minus < 0.95);
    int decimals = is_small || !d->is_percent;
    fprintf(out, is_signed ? "%+.*f" : "%.*f", decimals, is_signed ? d->off : fabs(d->off));
    fputs(d->is_percent ? " %" : " ms", out);
    if (has_interval)
        fprintf(out, " ± %.*f", decimals, d->plus_minus);
}

char *judgement_distance(const struct judgement *j)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = memory_stream(&text, &size);
    fputs(j->claim.id, out);
    if (j->evidence.rounds > 0) {
        fputs(" off ", out);
        put_distance(out, &j->distance, true);
    }
    fclose(out);
    return text;
}

const char *judgement_case(const struct place *place, const struct judgement *j)
{
    return j->row == ROW_ALL ? "all cases" : j->row == ROW_NOT_RUN ? "" : csv_field(&place->summary, j->row, "case");
}

/* --- a row's verdict in a few words ------------------------------------------------------------------------------ */

/* Rank of verdicts from best to worst. An untestable claim says less than a tested one. */
static int severity(enum verdict verdict)
{
    static const int ranks[VERDICTS] = {
        [HOLDS] = 1, [UNTESTABLE] = 2, [AS_PREDICTED] = 3, [TOO_NOISY] = 4, [DISTURBED] = 5, [WRONG] = 6, [FAILS] = 7
    };
    return verdict == VERDICTS ? 0 : ranks[verdict];
}

enum verdict judgement_worst(enum verdict a, enum verdict b)
{
    return severity(a) >= severity(b) ? a : b;
}

/* True if the claim belongs to the row's verdict. Examples do not; nor do claims that need another place or another run. */
static bool counts(const struct judgement *j, int row)
{
    const enum needs needs = j->claim.needs;
    bool is_elsewhere = needs == NEEDS_REAL || needs == NEEDS_SIM || needs == NEEDS_GPU || needs == NEEDS_PUBLISHED;
    return j->row == row && j->claim.kind != EXAMPLE && !(j->verdict == UNTESTABLE && is_elsewhere);
}

static void put_list(FILE *out, const struct place *place, int row, enum verdict verdict, const char *word)
{
    const char *between = ftell(out) > 0 ? "; " : "";
    for (const struct judgement *j = place->judgements; j < place->judgements + place->count; j++) {
        if (!counts(j, row) || j->verdict != verdict)
            continue;
        char *distance = judgement_distance(j);
        fprintf(out, "%s%s%s", between, word, distance);
        free(distance);
        word = "";
        between = ", ";
    }
}

/* Return the judgement of this verdict that says most about the row; NULL if none. */
static const struct judgement *choose(const struct place *place, int row, enum verdict verdict)
{
    const struct judgement *best = NULL;
    for (const struct judgement *j = place->judgements; j < place->judgements + place->count; j++) {
        if (!counts(j, row) || j->verdict != verdict)
            continue;
        bool is_better = !best || (verdict == DISTURBED && j->taken_share > best->taken_share) ||
                         (verdict == TOO_NOISY && j->more_rounds > best->more_rounds);
        if (verdict == AS_PREDICTED) /* the formula's claim, which comes first; else one with two sides */
            is_better = !best || (best->evidence.margin <= 0 && j->evidence.margin > 0);
        best = is_better ? j : best;
    }
    return best;
}

static void put_as_predicted(FILE *out, const struct judgement *j)
{
    fputs("as predicted", out);
    if (j->evidence.rounds > 0 && !j->evidence.is_one_sided) {
        fputs(", within ", out);
        put_distance(out, &j->distance, false);
    }
}

enum verdict judgement_row(const struct place *place, int row, char **phrase)
{
    enum verdict worst = VERDICTS;
    for (const struct judgement *j = place->judgements; j < place->judgements + place->count; j++)
        worst = counts(j, row) ? judgement_worst(worst, j->verdict) : worst;
    const struct judgement *j = worst == VERDICTS ? NULL : choose(place, row, worst);
    size_t size = 0;
    FILE *out = memory_stream(phrase, &size);
    switch (worst) {
    case FAILS:
    case WRONG:
        put_list(out, place, row, FAILS, "FAILS: ");
        put_list(out, place, row, WRONG, "WRONG: ");
        break;
    case DISTURBED:
        if (j->drift > 0)
            fprintf(out, "disturbed: %s", j->reason);
        else
            fprintf(out, "disturbed: others had %.0f %% of the core", 100 * j->taken_share);
        break;
    case TOO_NOISY: {
        char *distance = judgement_distance(j);
        fprintf(out, "too noisy: %s, %s", distance, j->reason);
        free(distance);
        break;
    }
    case AS_PREDICTED:
        if (row == ROW_ALL)
            put_list(out, place, row, AS_PREDICTED, "as predicted: ");
        else
            put_as_predicted(out, j);
        break;
    case UNTESTABLE:
        fputs(j->reason, out);
        break;
    case HOLDS:
        fputs("holds", out);
        break;
    case VERDICTS:
        fputs("no claim", out);
        break;
    }
    fclose(out);
    return worst;
}
