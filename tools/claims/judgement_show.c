#include "judgement.h"

#include <math.h>
#include <stdio.h>

static const struct {
    int width; /* of the column */
    const char *heading[2];
} columns[PLACES] = {
    [PUBLISHED] = { 10, { "blog,", "published" } },
    [BLOG] = { 16, { "blog's machine", "(simulated)" } },
    [DEDICATED] = { 17, { "dedicated cores", "(simulated)" } },
    [HERE] = { 11, { "here,", "measured" } },
};

static void print_headings(const struct lab *lab)
{
    for (int line = 0; line < 2; line++) {
        printf("%-24s", line == 0 ? lab->name : "step, in ms");
        for (int p = 0; p < PLACES; p++)
            if (lab->places[p].is_there)
                printf("%*s", columns[p].width, columns[p].heading[line]);
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
                print_ms(rows[i].ms[p], columns[p].width);
        has_mark |= rows[i].is_shared;
        printf("%c  %s\n", rows[i].is_shared ? '*' : ' ', rows[i].verdict);
    }
    closing_close(rows, count);
    if (has_mark)
        puts("* more ranks than cores: they share time");
}

static void print_judgement(const struct place *place, const char *word, const struct judgement *j)
{
    const struct claim *claim = &j->claim;
    const char *name = csv_field(&place->summary, j->row, "case");
    printf("\n%s, %s, %s (%s): %s is %s, ", kind_words[claim->kind], name, claim->id, word, claim->quantity,
           j->shown.quantity);
    if (claim->kind == EXAMPLE)
        printf("published %s", j->shown.value);
    else
        printf("not %s %s", relation_words[claim->relation], j->shown.value);
    if (claim->relation == NEAR && claim->kind != EXAMPLE)
        printf(" within %g %%", 100 * claim->tolerance);
    printf("%s%s\n    %s\n", *j->reason ? "; " : "", j->reason, claim->why);
}

/* Print the failures of all judged places, and the examples for the leading one. */
void judgement_show_claims(const struct lab *lab)
{
    int leading = lab->places[DEDICATED].is_there ? DEDICATED : HERE;
    for (int p = JUDGED; p < PLACES; p++) {
        const struct place *place = &lab->places[p];
        for (const struct judgement *j = place->judgements; j < place->judgements + place->count; j++)
            if (j->claim.kind == EXAMPLE ? p == leading && j->verdict != UNTESTABLE : j->verdict == FAILS)
                print_judgement(place, place_words[p], j);
    }
}
