#include "frame/quiz.h"

#include "analysis/bound_by.h"
#include "base/csv.h"
#include "base/die.h"
#include "base/memory.h"
#include "base/number.h"
#include "frame/blind.h"
#include "frame/quiz_owner.h"
#include "report/compare_cases.h"
#include "report/prompt.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { CAUSE_SKIPPED = -2, CAUSE_NONE = -1 };

struct quiz {
    const struct lab_spec *spec;
    const struct options *base;
    const struct run *run;
    char *folder;                         /* folder of the tables */
    const struct variant *truth, *answer; /* answer: NULL if skipped */
    int culprit, accused;                 /* a rank, or an owner, or CAUSE_NONE; accused may be CAUSE_SKIPPED */
    bool is_made_up;                      /* the truth is shares, not one of the lab's cases */
    double answered[BOUND_BY_TERMS_MOST]; /* shares of the suspects; NaN if skipped */
};

/* --- asking ----------------------------------------------------------------------------------------------------- */

/* Print the candidates in the lab's order, so that a short idea ("… and") stands below the candidate that it continues. */
static void list_candidates(const struct quiz *q)
{
    const struct variant *above = NULL;
    for (int i = 0; i < q->run->cases.count; i++) {
        const struct variant *v = lab_spec_find_variant(q->spec, q->run->cases.text[i]);
        const struct variant *root = blind_root(q->spec, v);
        bool stands_below = above && v != root && root == blind_root(q->spec, above);
        char *idea = stands_below ? memory_text("%s", v->idea) : blind_idea(q->spec, v);
        printf("%4d  %-20s %s\n", i + 1, v->name, idea);
        free(idea);
        above = v;
    }
}

/* Return the number that a word of digits holds; -1 for any other word. */
static int number_of(const char *word)
{
    size_t digits = strspn(word, "0123456789");
    return digits > 0 && digits < 5 && word[digits] == '\0' ? atoi(word) : -1;
}

static void ask_case(struct quiz *q)
{
    const struct option_list *candidates = &q->run->cases;
    printf("\nWhich case is it?\n");
    list_candidates(q);
    printf("[number or name, Enter skips] ");
    char line[PROMPT_LINE];
    while (prompt_answer(line) && line[0]) {
        int number = number_of(line);
        for (int i = 0; i < candidates->count; i++)
            if (number == i + 1 || strcasecmp(line, candidates->text[i]) == 0)
                q->answer = lab_spec_find_variant(q->spec, candidates->text[i]);
        if (q->answer)
            return;
        printf("'%s' is not one of them; enter a number from 1 to %d, a name, or Enter to skip: ", line,
               candidates->count);
    }
}

/* Return the cause that the user names: a rank, or in a lab about memory an owner. CAUSE_SKIPPED: the word is neither that nor "none". */
static int cause_called(const struct quiz *q, const char *word)
{
    if (strcasecmp(word, "n") == 0 || strcasecmp(word, "none") == 0)
        return CAUSE_NONE;
    const int cause = q->spec->asks_owner ? quiz_owner_called(word) : number_of(word);
    const bool is_there = cause >= 0 && (q->spec->asks_owner || cause < q->run->ranks);
    return is_there ? cause : CAUSE_SKIPPED;
}

static void ask_cause(struct quiz *q)
{
    const int last = q->run->ranks - 1;
    if (q->spec->asks_owner)
        printf("\nWhich owner's memory grew most? [its name, n for none, Enter skips] ");
    else
        printf("\nWhich rank is the cause? [0-%d, n for none or a different one each step, Enter skips] ", last);
    char line[PROMPT_LINE];
    while (prompt_answer(line) && line[0]) {
        q->accused = cause_called(q, line);
        if (q->accused != CAUSE_SKIPPED)
            return;
        if (q->spec->asks_owner)
            printf("'%s' is none of the owners above; enter one of their names, n for none, or Enter to skip: ", line);
        else
            printf("'%s' is not a rank; enter 0 to %d, n for none, or Enter to skip: ", line, last);
    }
}

/* Return a number from 0 to 100, as typed; NaN for any other word. */
static double percent_of(const char *word)
{
    double value;
    return number_parse(word, &value) && value >= 0 && value <= 100 ? value : (double)NAN;
}

/* True if a suspect is one that can be drawn. */
static bool is_asked(const struct lab_change *suspect)
{
    return !suspect->keeps_ranks_apart;
}

static void ask_shares(struct quiz *q)
{
    char line[PROMPT_LINE];
    puts("\nIts step was made up. Which part of it, in %, would be saved");
    for (int i = 0; q->spec->changes[i].suspect; i++) {
        q->answered[i] = (double)NAN;
        if (!is_asked(&q->spec->changes[i]))
            continue;
        printf("  without %s? [0-100, Enter skips] ", q->spec->changes[i].suspect);
        while (prompt_answer(line) && line[0]) {
            q->answered[i] = percent_of(line) / 100;
            if (!isnan(q->answered[i]))
                break;
            printf("  '%s' is no number from 0 to 100; enter one, or Enter to skip: ", line);
        }
    }
}

/* --- answer ----------------------------------------------------------------------------------------------------- */

static void print_case(const struct quiz *q)
{
    const struct variant *truth = q->truth, *answer = q->answer;
    char *idea = blind_idea(q->spec, truth);
    printf("\nIt was %s:\n  %s.\n", truth->name, idea);
    free(idea);
    if (!answer)
        return;
    switch (blind_judge(truth, answer)) {
    case JUDGED_RIGHT:
        puts("You said so: right.");
        break;
    case JUDGED_HALF:
        printf("You said %s: half right: the same problem, but %s.\n", answer->name,
               !truth->fix    ? "nothing else was changed"
               : !answer->fix ? "one more thing was changed"
                              : "something else was changed too");
        break;
    case JUDGED_WRONG:
        printf("You said %s: wrong%s.\n", answer->name,
               truth->fix && truth->fix == answer->fix ? ", though the other change is right" : "");
        break;
    case JUDGED_NOTHING:
        break;
    }
}

/* --- answer to a made-up case ------------------------------------------------------------------------------------- */

static const double NEAR = 0.1; /* of the step: an answer this near is right */

/* Return the drawn share of a suspect. */
static double drawn(const struct quiz *q, int i)
{
    return q->spec->draw->share(q->base, q->spec->changes[i].suspect);
}

/* Grade the answered shares: right if all are near, half if only the largest is the right one. */
static enum judgement judge_shares(const struct quiz *q)
{
    int truth = 0, answer = -1;
    bool is_near = true;
    for (int i = 0; q->spec->changes[i].suspect; i++) {
        truth = drawn(q, i) > drawn(q, truth) ? i : truth;
        if (isnan(q->answered[i]))
            continue;
        answer = answer < 0 || q->answered[i] > q->answered[answer] ? i : answer;
        is_near &= fabs(q->answered[i] - drawn(q, i)) <= NEAR + 1e-9;
    }
    if (answer < 0)
        return JUDGED_NOTHING;
    return answer != truth ? JUDGED_WRONG : is_near ? JUDGED_RIGHT : JUDGED_HALF;
}

/* Return shares as "data 45 launches 30", those above 0 only. Free it. */
static char *shares_text(const struct quiz *q, bool is_answer)
{
    char *text = memory_text("%s", "");
    for (int i = 0; q->spec->changes[i].suspect; i++) {
        const double share = is_answer ? q->answered[i] : drawn(q, i);
        if (!(share > 0))
            continue;
        char *longer = memory_text("%s%s%s %.0f", text, *text ? " " : "", q->spec->changes[i].suspect, 100 * share);
        free(text);
        text = longer;
    }
    return text;
}

/* Print truth, answer and what the program found, side by side. */
static void print_shares(const struct quiz *q)
{
    static const char *const columns[] = { "case", "suspect", "share", "share_low", "share_high", "bound_by", NULL };
    char *path = memory_text("%s/verdict.csv", q->folder);
    struct csv_table verdict = csv_open(path, columns);
    const char *bound = "";
    printf("\nIt was, in %% of a step:\n  %-14s %6s %6s   %s\n", "", "drawn", "yours",
           "the program's, from the changes");
    for (int row = 0; row < verdict.rows; row++) {
        if (strcmp(csv_field(&verdict, row, "case"), BLIND_NAME) != 0)
            continue;
        const char *suspect = csv_field(&verdict, row, "suspect");
        char yours[16] = "-", truth[16] = "";
        for (int i = 0; q->spec->changes[i].suspect; i++) {
            if (strcmp(q->spec->changes[i].suspect, suspect) != 0)
                continue;
            snprintf(truth, sizeof truth, "%.0f", 100 * drawn(q, i));
            if (!isnan(q->answered[i]))
                snprintf(yours, sizeof yours, "%.0f", 100 * q->answered[i]);
        }
        printf("  %-14s %6s %6s   %.0f [%.0f %.0f]\n", suspect, truth, strcmp(suspect, "rest") == 0 ? "" : yours,
               100 * csv_value(&verdict, row, "share"), 100 * csv_value(&verdict, row, "share_low"),
               100 * csv_value(&verdict, row, "share_high"));
        bound = csv_field(&verdict, row, "bound_by");
    }
    const enum judgement judgement = judge_shares(q);
    printf("Bound by, says the program: %s.", bound);
    if (judgement == JUDGED_RIGHT)
        printf(" You said so, each share within %.0f points: right.", 100 * NEAR);
    else if (judgement == JUDGED_HALF)
        printf(" You named the largest, but not each share within %.0f points: half right.", 100 * NEAR);
    else if (judgement == JUDGED_WRONG)
        printf(" You said another: wrong.");
    putchar('\n');
    csv_free(&verdict);
    free(path);
}

static void print_owner(const struct quiz *q)
{
    if (q->culprit >= 0)
        printf("Memory of %s grew most.", memory_owner_names[q->culprit]);
    else
        printf("No owner's memory grew.");
    if (q->accused == q->culprit)
        printf(" You said so: right.");
    else if (q->accused != CAUSE_SKIPPED)
        printf(" You said %s: wrong.", q->accused == CAUSE_NONE ? "none" : memory_owner_names[q->accused]);
    putchar('\n');
}

static void print_rank(const struct quiz *q, bool is_blamed)
{
    if (q->run->ranks == 1)
        return;
    if (q->culprit >= 0)
        printf("The cause is rank %d.", q->culprit);
    else
        printf("No single rank is the cause.");
    if (q->accused == q->culprit)
        printf(" You said so: right.");
    else if (q->accused == CAUSE_NONE)
        printf(" You said none: wrong%s.", is_blamed ? "" : ", though no rank waits for it");
    else if (q->accused >= 0)
        printf(" You said rank %d: wrong.", q->accused);
    putchar('\n');
}

/* Print which rank the program blames, from arrival times alone. */
static void print_blame(const struct csv_table *summary, int row, bool is_quick)
{
    double rank = csv_value(summary, row, "blamed_rank"), waited = csv_value(summary, row, "blamed_wait_ms");
    if (rank >= 0) /* false if blank (NaN) */
        printf("From arrival times alone, the program blames rank %.0f: all other ranks together waited %.1f ms a step "
               "for it.\n",
               rank, waited);
    else
        printf("From arrival times alone, the program blames no rank: none stands out%s.\n",
               is_quick ? ", or a --quick run is too short to tell" : "");
}

static void print_commands(const struct quiz *q, char *const *arguments)
{
    printf("\n--seed %" PRIu64 " repeats the quiz. By name:\n  ", q->run->seed);
    blind_print_command(stdout, q->spec, q->base, arguments);
    putchar('\n');
}

/* Write "2", "activations", "none", or a blank if the user skipped the question. */
static void put_cause(struct csv *csv, const struct quiz *q, const char *name, int cause)
{
    char text[32] = "";
    if (cause >= 0 && q->spec->asks_owner)
        snprintf(text, sizeof text, "%s", memory_owner_names[cause]);
    else if (cause >= 0)
        snprintf(text, sizeof text, "%d", cause);
    else if (cause == CAUSE_NONE)
        snprintf(text, sizeof text, "none");
    csv_text(csv, name, text);
}

static void log_answer(const struct quiz *q, const struct csv_table *summary, int row)
{
    struct answer_log answers;
    struct file_set files = { 0 };
    if (!prompt_open_log(&answers, &files, q->run->out, "blind.csv"))
        return;
    struct csv *csv = &answers.csv;
    char *truth = q->is_made_up ? shares_text(q, false) : memory_text("%s", q->truth->name),
         *answer = q->is_made_up ? shares_text(q, true) : memory_text("%s", q->answer ? q->answer->name : "");
    do {
        csv_text(csv, "time", answers.now);
        csv_text(csv, "lab", q->spec->lab);
        csv_text(csv, "backend", csv_field(summary, row, "backend"));
        csv_text(csv, "platform", csv_field(summary, row, "platform"));
        csv_unsigned(csv, "seed", q->run->seed);
        csv_text(csv, "case", truth);
        put_cause(csv, q, "rank", q->culprit);
        csv_text(csv, "answered_case", answer);
        put_cause(csv, q, "answered_rank", q->accused);
        csv_text(csv, "right", judgement_names[q->is_made_up ? judge_shares(q) : blind_judge(q->truth, q->answer)]);
    } while (csv_end_row(csv));
    free(truth);
    free(answer);
    file_set_commit(&files);
}

/* --- the quiz --------------------------------------------------------------------------------------------------- */

static struct csv_table read_summary(const struct quiz *q, int *row)
{
    static const char *const columns[] = { "case", "backend", "platform", "blamed_rank", "blamed_wait_ms", NULL };
    char *path = memory_text("%s/summary.csv", q->folder);
    struct csv_table summary = csv_open(path, columns);
    *row = csv_find(&summary, "case", BLIND_NAME);
    if (*row < 0)
        die(STATUS_WRONG, "%s has no row for %s; run again", path, BLIND_NAME);
    free(path);
    return summary;
}

static void reveal_answer(const struct quiz *q, const struct compared_cases *evidence)
{
    int row;
    struct csv_table summary = read_summary(q, &row);
    if (q->is_made_up)
        print_shares(q);
    else
        print_case(q);
    if (q->spec->asks_owner)
        print_owner(q);
    else
        print_rank(q, !isnan(csv_value(&summary, row, "blamed_rank")));
    puts("\nThe evidence:");
    compare_cases_print_causes(stdout, evidence);
    print_blame(&summary, row, q->run->quick);
    log_answer(q, &summary, row);
    csv_free(&summary);
}

void quiz_play(const struct lab_spec *spec, const struct options *base, const char *platform, char *const *arguments)
{
    struct quiz q = { .spec = spec, .base = base, .run = (const struct run *)base, .accused = CAUSE_SKIPPED };
    char *platform_folder = run_folder(q.run, platform);
    q.folder = blind_folder(platform_folder, spec->lab);
    q.truth = blind_drawn(spec, q.run);
    q.culprit = spec->asks_owner ? quiz_owner_that_grew(spec, base, q.truth) : blind_culprit(spec, base, q.truth);
    struct compared_cases evidence;
    compare_cases_open(&evidence, q.folder, spec->variants->name, BLIND_NAME);
    compare_cases_show(stdout, &evidence);
    if (spec->asks_owner)
        quiz_owner_show(q.folder, spec->variants->name, BLIND_NAME);
    printf("Tables, spans and trace: %s\n", q.folder);
    q.is_made_up = blind_is_made_up(spec, q.run);
    if (q.is_made_up)
        ask_shares(&q);
    else
        ask_case(&q);
    if (spec->asks_owner || (q.run->ranks > 1 && !q.is_made_up))
        ask_cause(&q);
    reveal_answer(&q, &evidence);
    print_commands(&q, arguments);
    compare_cases_close(&evidence);
    free(q.folder);
    free(platform_folder);
}
