#include "judgement.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void print_headings(const struct lab *lab)
{
    for (int line = 0; line < 2; line++) {
        printf("%-24s", line == 0 ? lab->name : "step, in ms");
        for (int p = 0; p < PLACES; p++)
            if (lab->places[p].is_there)
                printf("%*s", lab->sources[p].width, lab->sources[p].heading[line]);
        puts(line == 0 ? "" : "   verdict");
    }
}

static void print_ms(double ms, int width)
{
    if (isnan(ms))
        printf("%*s", width, "-");
    else
        printf("%*.2f", width, ms);
}

void judgement_show_table(const struct lab *lab)
{
    struct closing *rows = NULL;
    int count = closing_open(&rows, lab);
    bool has_mark = false;
    print_headings(lab);
    for (int i = 0; i < count; i++) {
        printf("%-24s", rows[i].name);
        for (int p = 0; p < PLACES; p++)
            if (lab->places[p].is_there)
                print_ms(rows[i].ms[p], lab->sources[p].width);
        has_mark |= rows[i].is_shared;
        printf("%c  %s\n", rows[i].is_shared ? '*' : ' ', rows[i].details);
    }
    closing_close(rows, count);
    if (has_mark)
        puts("* more ranks than cores: they share time");
    for (int p = 0; p < PLACES; p++)
        if (lab->places[p].is_there && lab->sources[p].legend)
            puts(lab->sources[p].legend);
}

/* Print the condition of a claim: "not ~ 50 within 10 %". */
static void print_demand(const struct judgement *j)
{
    const struct claim *claim = &j->claim;
    bool has_tolerance = claim->relation == NEAR || claim->relation == EXTRA;
    if (claim->kind == EXAMPLE)
        printf("published %s", j->shown.value);
    else
        printf("not %s %s", relation_words[claim->relation], j->shown.value);
    if (has_tolerance && claim->kind != EXAMPLE)
        printf(" within %g %%", 100 * claim->tolerance);
}

static void print_judgement(const struct place *place, const char *word, const struct judgement *j)
{
    const struct claim *claim = &j->claim;
    printf("\n%s, %s, %s (%s): %s is %s, ", kind_words[claim->kind], judgement_case(place, j), claim->id, word,
           claim->quantity, j->shown.quantity);
    print_demand(j);
    if (j->evidence.rounds > 0) {
        char *distance = judgement_distance(j);
        printf(": %s, in %d round%s", distance, j->evidence.rounds, j->evidence.rounds == 1 ? "" : "s");
        free(distance);
    }
    printf("%s%s\n    %s\n", *j->reason ? "; " : "", j->reason, claim->why);
}

static bool is_shown(const struct judgement *j, bool is_leading)
{
    if (j->claim.kind == EXAMPLE)
        return is_leading && j->verdict != UNTESTABLE;
    return j->verdict == FAILS || j->verdict == WRONG;
}

/* Print failures of all judged places, and the examples for the leading one. */
void judgement_show_claims(const struct lab *lab)
{
    int leading = lab->places[DEDICATED].is_there ? DEDICATED : HERE;
    for (int p = JUDGED; p < PLACES; p++) {
        const struct place *place = &lab->places[p];
        for (const struct judgement *j = place->judgements; j < place->judgements + place->count; j++)
            if (is_shown(j, p == leading))
                print_judgement(place, lab->sources[p].word, j);
    }
}
