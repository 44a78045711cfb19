#include "cases.h"

#include "blind.h"
#include "die.h"
#include "guess.h"
#include "memory.h"
#include "spans.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void refuse_unknown(const struct option_list *wanted, const struct story *story)
{
    for (int i = 0; i < wanted->count; i++)
        if (!story_find_variant(story, wanted->text[i]))
            die(STATUS_USAGE, "--cases names no case of this lab: '%.60s'; --help lists the cases", wanted->text[i]);
}

/* The question, and a line per case. */
static char *help_of(const struct story *story)
{
    char *help = memory_text("%s\n\ncases:", story->question);
    for (const struct variant *v = story->variants; v->name; v++) {
        char *longer = memory_text("%s\n  %-20s %s", help, v->name, v->idea);
        free(help);
        help = longer;
    }
    return help;
}

/* --quick and --blind leave the long runs out, unless they are asked for by name. */
static bool is_long(const struct story *story, const struct options *base, const struct variant *variant)
{
    struct options *settings = story_settings(story, base, variant);
    bool is = run_of(settings)->once > 0;
    free(settings);
    return is;
}

/* Of the cases but the baseline, one is drawn and the others are left out. All of them stay in run.cases, as if they had
 * been named: what may be the hidden one, and what a lab has to be ready for. */
static void hide(struct cases *cases, const struct story *story, struct options *base, int argc, char *const *argv)
{
    struct option_list *may_be = &run_of(base)->cases;
    may_be->count = 0;
    for (int i = 1; i < cases->count && may_be->count < OPTION_LIST_MOST; i++)
        may_be->text[may_be->count++] = cases->variant[i]->name;
    blind_draw(story, base, argc, argv);
    cases->hidden = *blind_drawn(story, run_of(base));
    cases->hidden.name = BLIND_NAME;
    cases->hidden.idea = "which case is this?";
    cases->variant[1] = &cases->hidden;
    cases->count = 2;
}

void cases_choose(struct cases *cases, const struct story *story, const struct option_row *const *tables,
                  struct options *base, int argc, char *const *argv)
{
    char *help = help_of(story);
    options_parse(tables, base, help, argc, (char **)argv);
    free(help);
    if (run_of(base)->blind)
        blind_refuse(run_of(base));
    if (story->narrow)
        story->narrow(base);
    const struct option_list *wanted = &run_of(base)->cases;
    const bool is_short = run_of(base)->quick || run_of(base)->blind;
    refuse_unknown(wanted, story);
    const char *names[CASES_MOST + 1] = { NULL };
    for (const struct variant *v = story->variants; v->name; v++)
        if (v == story->variants || (wanted->count == 0 && !(is_short && is_long(story, base, v))) ||
            option_list_has(wanted, v->name)) {
            names[cases->count] = v->name;
            cases->variant[cases->count++] = v;
        }
    guess_refuse(&run_of(base)->guesses, names);
    if (run_of(base)->blind)
        hide(cases, story, base, argc, argv);
}

void cases_refuse(const struct story *story, struct options *base)
{
    if (story->refuse)
        story->refuse(base);
    run_refuse(run_of(base));
    if (story->subject->refuse)
        story->subject->refuse(run_of(base));
    double parameters = story->subject->gradient_bytes(run_of(base)) / sizeof(float);
    if (parameters > INT_MAX)
        die(STATUS_USAGE, "%s has %.3g parameters, and one all-reduce can take %d; choose smaller dimensions",
            story->subject->name(run_of(base)), parameters, INT_MAX);
}

void cases_settle(struct cases *cases, const struct story *story, const struct options *base)
{
    for (int i = 0; i < cases->count; i++) {
        cases->settings[i] = story_settings(story, base, cases->variant[i]);
        if (story->complete)
            story->complete(cases->settings[i]);
    }
}

void cases_close(struct cases *cases)
{
    for (int i = 0; i < cases->count; i++)
        free(cases->settings[i]);
    *cases = (struct cases){ 0 };
}

int cases_quick_rounds(const struct cases *cases)
{
    enum { ENOUGH = 4 };
    int fewest = ENOUGH;
    for (int i = 0; i < cases->count; i++) {
        int measured = run_window(run_of(cases->settings[i]), 0).measured;
        fewest = measured < fewest ? measured : fewest;
    }
    return (ENOUGH + fewest - 1) / fewest;
}

enum { PHASES = 6, FEW = 10 }; /* spans of a micro-batch, and collectives of a step */

static int spans_of_step(const struct cases *cases, const struct story *story, int i)
{
    int collectives = FEW + (story->collectives ? story->collectives(cases->settings[i]) : 0);
    return collectives + PHASES * run_of(cases->settings[i])->accumulate;
}

int cases_most_spans(const struct cases *cases, const struct story *story)
{
    int most = 0;
    for (int i = 0; i < cases->count; i++)
        for (int round = 0; round < 2; round++) { /* all rounds after the first are alike */
            struct window window = run_window(run_of(cases->settings[i]), round);
            int spans = spans_of_step(cases, story, i) * (window.warmup + window.measured);
            most = spans > most ? spans : most;
        }
    return most;
}

double cases_record(const struct cases *cases, const struct story *story)
{
    double ranks = 0, kept = 0, most = cases_most_spans(cases, story), span = sizeof(struct span);
    for (int i = 0; i < cases->count; i++) {
        struct run *run = run_of(cases->settings[i]);
        struct window window = run_window(run, 0);
        double made = spans_of_step(cases, story, i) - FEW; /* a step makes hardly more */
        kept += made * (window.warmup + window.measured) * run->ranks;
        ranks = fmax(ranks, run->ranks);
    }
    return (ranks * most + kept) * span;
}
