#include "frame/quiz.h"

#include "base/csv.h"
#include "base/die.h"
#include "base/memory.h"
#include "frame/blind.h"
#include "report/compare_cases.h"
#include "report/prompt.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { RANK_UNSAID = -2, RANK_NOBODY = -1 };

struct riddle {
    const struct lab_spec *spec;
    const struct options *base;
    const struct run *run;
    char *folder;                         /* of the tables */
    const struct variant *truth, *answer; /* answer: NULL where nobody gave one */
    int culprit, accused;                 /* a rank or RANK_NOBODY; accused may be RANK_UNSAID */
};

/* --- asking ----------------------------------------------------------------------------------------------------- */

/* Candidates in the story's order, so that an idea that goes on from another stands below it where that may be it too. */
static void list_candidates(const struct riddle *r)
{
    const struct variant *above = NULL;
    for (int i = 0; i < r->run->cases.count; i++) {
        const struct variant *v = lab_spec_find_variant(r->spec, r->run->cases.text[i]);
        const struct variant *root = blind_root(r->spec, v);
        bool stands_below = above && v != root && root == blind_root(r->spec, above);
        char *idea = stands_below ? memory_text("%s", v->idea) : blind_idea(r->spec, v);
        printf("%4d  %-20s %s\n", i + 1, v->name, idea);
        free(idea);
        above = v;
    }
}

/* The number of a whole word of digits; -1 for any other. */
static int number_of(const char *word)
{
    size_t digits = strspn(word, "0123456789");
    return digits > 0 && digits < 5 && word[digits] == '\0' ? atoi(word) : -1;
}

static void ask_case(struct riddle *r)
{
    const struct option_list *may_be = &r->run->cases;
    printf("\nWhich case is it?\n");
    list_candidates(r);
    printf("[number or name, Enter skips] ");
    char line[PROMPT_LINE];
    while (prompt_answer(line) && line[0]) {
        int number = number_of(line);
        for (int i = 0; i < may_be->count; i++)
            if (number == i + 1 || strcasecmp(line, may_be->text[i]) == 0)
                r->answer = lab_spec_find_variant(r->spec, may_be->text[i]);
        if (r->answer)
            return;
        printf("'%s' is none of them; a number from 1 to %d, a name, or Enter to skip: ", line, may_be->count);
    }
}

static void ask_rank(struct riddle *r)
{
    int last = r->run->ranks - 1;
    printf("\nWhich rank is the cause? [0-%d, n for nobody or another one each step, Enter skips] ", last);
    char line[PROMPT_LINE];
    while (prompt_answer(line) && line[0]) {
        r->accused = number_of(line);
        if (strcasecmp(line, "n") == 0 || strcasecmp(line, "nobody") == 0)
            r->accused = RANK_NOBODY;
        else if (r->accused < 0 || r->accused > last)
            r->accused = RANK_UNSAID;
        if (r->accused != RANK_UNSAID)
            return;
        printf("'%s' is no rank; 0 to %d, n for nobody, or Enter to skip: ", line, last);
    }
}

/* --- telling ---------------------------------------------------------------------------------------------------- */

static void tell_case(const struct riddle *r)
{
    const struct variant *truth = r->truth, *answer = r->answer;
    char *idea = blind_idea(r->spec, truth);
    printf("\nIt was %s:\n  %s.\n", truth->name, idea);
    free(idea);
    if (!answer)
        return;
    switch (blind_judge(truth, answer)) {
    case JUDGED_RIGHT:
        puts("You said so: right.");
        break;
    case JUDGED_HALF:
        printf("You said %s: half right, the same trouble, but %s.\n", answer->name,
               !truth->fix    ? "nothing else was changed"
               : !answer->fix ? "one thing more was changed"
                              : "another thing was changed as well");
        break;
    case JUDGED_WRONG:
        printf("You said %s: wrong%s.\n", answer->name,
               truth->fix && truth->fix == answer->fix ? ", though what was changed as well is the same" : "");
        break;
    case JUDGED_NOTHING:
        break;
    }
}

static void tell_rank(const struct riddle *r, bool is_blamed)
{
    if (r->run->ranks == 1)
        return;
    if (r->culprit >= 0)
        printf("The cause sits on rank %d.", r->culprit);
    else
        printf("No single rank is the cause.");
    if (r->accused == r->culprit)
        printf(" You said so: right.");
    else if (r->accused == RANK_NOBODY)
        printf(" You said nobody: wrong%s.", is_blamed ? "" : ", though nobody waits for it");
    else if (r->accused >= 0)
        printf(" You said rank %d: wrong.", r->accused);
    putchar('\n');
}

/* What the program itself said, from arrival times alone. */
static void tell_blame(const struct csv_table *summary, int row, bool is_quick)
{
    double rank = csv_value(summary, row, "blamed_rank"), waited = csv_value(summary, row, "blamed_wait_ms");
    if (rank >= 0) /* false where it is blank */
        printf("The program, from arrival times alone, blames rank %.0f: all others together waited %.1f ms a step for "
               "it.\n",
               rank, waited);
    else
        printf("The program, from arrival times alone, blames nobody: no rank stands out%s.\n",
               is_quick ? ", or a --quick run is too short to tell" : "");
}

static void tell_again(const struct riddle *r, char *const *arguments)
{
    printf("\n--seed %d repeats the riddle. By name:\n  ", r->run->seed);
    blind_tell_command(stdout, r->spec, r->base, arguments);
    putchar('\n');
}

/* "2", "nobody", or nothing where nobody said anything. */
static void put_rank(struct csv *csv, const char *name, int rank)
{
    char text[16] = "";
    if (rank >= 0)
        snprintf(text, sizeof text, "%d", rank);
    else if (rank == RANK_NOBODY)
        snprintf(text, sizeof text, "nobody");
    csv_text(csv, name, text);
}

static void keep(const struct riddle *r, const struct csv_table *summary, int row)
{
    struct answer_log diary;
    struct file_set files = { 0 };
    if (!prompt_open_diary(&diary, &files, r->run->out, "blind.csv"))
        return;
    struct csv *csv = &diary.csv;
    do {
        csv_text(csv, "time", diary.now);
        csv_text(csv, "lab", r->spec->lab);
        csv_text(csv, "backend", csv_field(summary, row, "backend"));
        csv_text(csv, "platform", csv_field(summary, row, "platform"));
        csv_integer(csv, "seed", r->run->seed);
        csv_text(csv, "case", r->truth->name);
        put_rank(csv, "rank", r->culprit);
        csv_text(csv, "answered_case", r->answer ? r->answer->name : "");
        put_rank(csv, "answered_rank", r->accused);
        csv_text(csv, "right", judgement_names[blind_judge(r->truth, r->answer)]);
    } while (csv_end_row(csv));
    file_set_commit(&files);
}

/* --- the game --------------------------------------------------------------------------------------------------- */

static struct csv_table read_summary(const struct riddle *r, int *row)
{
    static const char *const columns[] = { "case", "backend", "platform", "blamed_rank", "blamed_wait_ms", NULL };
    char *path = memory_text("%s/summary.csv", r->folder);
    struct csv_table summary = csv_open(path, columns);
    *row = csv_find(&summary, "case", BLIND_NAME);
    if (*row < 0)
        die(STATUS_WRONG, "%s has no row of %s; run again", path, BLIND_NAME);
    free(path);
    return summary;
}

static void tell(const struct riddle *r, const struct compared_cases *evidence)
{
    int row;
    struct csv_table summary = read_summary(r, &row);
    tell_case(r);
    tell_rank(r, !isnan(csv_value(&summary, row, "blamed_rank")));
    puts("\nOne could see it by this:");
    compare_cases_tell(stdout, evidence);
    tell_blame(&summary, row, r->run->quick);
    keep(r, &summary, row);
    csv_free(&summary);
}

void quiz_play(const struct lab_spec *spec, const struct options *base, const char *platform, char *const *arguments)
{
    struct riddle r = { .spec = spec, .base = base, .run = (const struct run *)base, .accused = RANK_UNSAID };
    char *of_platform = run_folder(r.run, platform);
    r.folder = blind_folder(of_platform, spec->lab);
    r.truth = blind_drawn(spec, r.run);
    r.culprit = blind_culprit(spec, base, r.truth);
    struct compared_cases evidence;
    compare_cases_open(&evidence, r.folder, spec->variants->name, BLIND_NAME);
    compare_cases_show(stdout, &evidence);
    printf("Tables, spans and trace: %s\n", r.folder);
    ask_case(&r);
    if (r.run->ranks > 1)
        ask_rank(&r);
    tell(&r, &evidence);
    tell_again(&r, arguments);
    compare_cases_close(&evidence);
    free(r.folder);
    free(of_platform);
}
