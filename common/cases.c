#include "cases.h"

#include "die.h"
#include "guess.h"
#include "memory.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static void refuse_unknown(const struct option_list *wanted, const struct variant *variants)
{
    for (int i = 0; i < wanted->count; i++) {
        const struct variant *v = variants;
        while (v->name && strcmp(v->name, wanted->text[i]) != 0)
            v++;
        if (!v->name)
            die(STATUS_USAGE, "--cases names no case of this lab: '%.60s'; --help lists the cases", wanted->text[i]);
    }
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

/* The base settings and the variant's change. */
static struct options *settings_of(const struct story *story, const struct options *base, const struct variant *variant)
{
    struct options *settings = memory_new(1, story->options_size);
    memcpy(settings, base, story->options_size);
    if (variant->pathology)
        variant->pathology(settings);
    if (variant->fix)
        variant->fix(settings);
    return settings;
}

/* --quick leaves the long runs out, unless they are asked for by name. */
static bool is_too_long(const struct story *story, const struct options *base, const struct variant *variant)
{
    struct options *settings = settings_of(story, base, variant);
    bool is = run_of(settings)->quick && run_of(settings)->once;
    free(settings);
    return is;
}

void cases_choose(struct cases *cases, const struct story *story, const struct option_row *const *tables,
                  struct options *base, int argc, char *const *argv)
{
    char *help = help_of(story);
    options_parse(tables, base, help, argc, (char **)argv);
    free(help);
    if (story->narrow)
        story->narrow(base);
    const struct option_list *wanted = &run_of(base)->cases;
    refuse_unknown(wanted, story->variants);
    const char *names[CASES_MOST + 1] = { NULL };
    for (const struct variant *v = story->variants; v->name; v++)
        if (v == story->variants || (wanted->count == 0 && !is_too_long(story, base, v)) ||
            option_list_has(wanted, v->name)) {
            names[cases->count] = v->name;
            cases->variant[cases->count++] = v;
        }
    guess_refuse(&run_of(base)->guesses, names);
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
        die(STATUS_USAGE, "a model of %.3g parameters is more than one all-reduce can take; choose smaller dimensions",
            parameters);
}

void cases_settle(struct cases *cases, const struct story *story, const struct options *base)
{
    for (int i = 0; i < cases->count; i++)
        cases->settings[i] = settings_of(story, base, cases->variant[i]);
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

int cases_most_spans(const struct cases *cases, const struct story *story)
{
    enum { PHASES = 6, FEW = 10 }; /* of a micro-batch, and collectives of a step */
    int most = 0;
    for (int i = 0; i < cases->count; i++)
        for (int round = 0; round < 2; round++) { /* all rounds after the first are alike */
            struct window window = run_window(run_of(cases->settings[i]), round);
            int collectives = FEW + (story->collectives ? story->collectives(cases->settings[i]) : 0);
            int spans = collectives + PHASES * run_of(cases->settings[i])->accumulate;
            spans = spans * (window.warmup + window.measured);
            most = spans > most ? spans : most;
        }
    return most;
}
