#include "frame/cases.h"

#include "base/die.h"
#include "base/memory.h"
#include "collective/span.h"
#include "frame/blind.h"
#include "report/guess.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void refuse_unknown(const struct option_list *wanted, const struct lab_spec *spec)
{
    for (int i = 0; i < wanted->count; i++)
        if (!lab_spec_find_variant(spec, wanted->text[i]))
            die(STATUS_USAGE, "--cases '%.60s' is not a case of this lab; --help lists the cases", wanted->text[i]);
}

/* Return the lab's question and a line per case. Free it. */
static char *help_of(const struct lab_spec *spec)
{
    char *help = memory_text("%s\n\ncases:", spec->question);
    for (const struct variant *v = spec->variants; v->name; v++) {
        char *longer = memory_text("%s\n  %-20s %s", help, v->name, v->idea);
        free(help);
        help = longer;
    }
    return help;
}

/* True for a long case. --quick, --blind and --without-tables leave long cases out unless --cases names them. */
static bool is_long(const struct lab_spec *spec, const struct options *base, const struct variant *variant)
{
    struct options *settings = lab_spec_settings(spec, base, variant);
    bool is = run_of(settings)->once > 0;
    free(settings);
    return is;
}

/* Draw one case beside the baseline and leave the others out. All of them stay in run.cases, as if --cases had named them: they
 * are the candidates, and the lab must be ready for each. A lab that makes up a case hides that one. */
static void hide(struct cases *cases, const struct lab_spec *spec, struct options *base, int argc, char *const *argv)
{
    struct option_list *candidates = &run_of(base)->cases;
    const bool is_made_up = spec->draw && candidates->count == 0;
    candidates->count = 0;
    if (is_made_up)
        candidates->text[candidates->count++] = spec->draw->name;
    else
        for (int i = 1; i < cases->count && candidates->count < OPTION_LIST_MOST; i++)
            candidates->text[candidates->count++] = cases->variant[i]->name;
    blind_draw(spec, base, argc, argv);
    cases->hidden = *blind_drawn(spec, run_of(base));
    cases->hidden.name = BLIND_NAME;
    cases->hidden.idea = "which case is this?";
    cases->hidden.label = "the hidden case";
    cases->variant[1] = &cases->hidden;
    cases->count = 2;
}

static void refuse_verdict(const struct lab_spec *spec, const struct run *run)
{
    if (run->verdict && !spec->changes)
        die(STATUS_USAGE, "--verdict: %s has no changes to make to its cases; leave it out", spec->lab);
}

void cases_choose(struct cases *cases, const struct lab_spec *spec, const struct option_row *const *tables,
                  struct options *base, int argc, char *const *argv)
{
    char *help = help_of(spec);
    options_parse(tables, base, help, argc, (char **)argv);
    free(help);
    run_of(base)->whole |= options_name(argc, argv, "--steps");
    if (run_of(base)->blind)
        blind_refuse(run_of(base));
    if (spec->narrow)
        spec->narrow(base);
    const struct option_list *wanted = &run_of(base)->cases;
    const bool is_short = run_of(base)->quick || run_of(base)->blind || run_of(base)->without_tables;
    refuse_unknown(wanted, spec);
    const char *names[CASES_MOST + 1] = { NULL };
    for (const struct variant *v = spec->variants; v->name; v++)
        if (lab_spec_wants(spec, run_of(base), v) &&
            (v == spec->variants || !is_short || option_list_has(wanted, v->name) || !is_long(spec, base, v))) {
            if (cases->count == CASES_MOST)
                die(STATUS_WRONG, "%s has more than %d cases; raise CASES_MOST", spec->lab, CASES_MOST);
            names[cases->count] = v->name;
            cases->variant[cases->count++] = v;
        }
    guess_refuse(&run_of(base)->guesses, names);
    if (run_of(base)->blind)
        hide(cases, spec, base, argc, argv);
    refuse_verdict(spec, run_of(base));
    run_of(base)->verdict |= run_of(base)->blind && spec->changes;
    cases->named = cases->count;
}

/* A case may train on more samples than the options say. Under --blind all candidates are checked, so that a refusal does not tell which
 * one was drawn. */
static void refuse_cases(const struct lab_spec *spec, struct options *base)
{
    for (const struct variant *v = spec->variants; v->name; v++) {
        if (!lab_spec_wants(spec, run_of(base), v))
            continue;
        struct options *settings = lab_spec_settings(spec, base, v);
        run_refuse_case(run_of(settings), v->name);
        free(settings);
    }
}

void cases_refuse(const struct lab_spec *spec, struct options *base)
{
    if (spec->refuse)
        spec->refuse(base);
    run_refuse(run_of(base));
    workload_refuse(workload_of(base), run_of(base));
    double parameters = (double)workload_parameters(workload_of(base));
    if (parameters > INT_MAX)
        die(STATUS_USAGE, "%s has %.3g parameters, but one all-reduce takes at most %d; choose smaller dimensions",
            workload_name(workload_of(base)), parameters, INT_MAX);
    refuse_cases(spec, base);
}

static struct options *settle(const struct lab_spec *spec, const struct options *base, const struct variant *variant,
                              const struct card *card)
{
    struct options *settings = lab_spec_settings(spec, base, variant);
    if (spec->complete)
        spec->complete(settings, card);
    return settings;
}

static bool is_there(const struct lab_change *change, const struct options *settings)
{
    return !change->is_there || change->is_there(settings);
}

/* Add a case with this change, made in addition to the first one, to what runs. Steps that run once have no rounds to compare. */
static void add_changed(struct cases *cases, const struct lab_spec *spec, const struct options *base, int of,
                        const struct lab_change *change, const struct card *card)
{
    if (run_of(cases->settings[of])->once > 0 || !is_there(change, cases->settings[of]))
        return;
    if (cases->count == CASES_MOST)
        die(STATUS_USAGE, "--verdict changes each case several times, more than %d in all; choose some with --cases",
            CASES_MOST);
    const int at = cases->count++;
    cases->settings[at] = settle(spec, base, cases->variant[of], card);
    if (change != spec->changes && is_there(spec->changes, cases->settings[of]))
        spec->changes->make(cases->settings[at]);
    change->make(cases->settings[at]);
    cases->variant[at] = cases->variant[of];
    cases->of[at] = of;
    cases->change[at] = change;
}

void cases_settle(struct cases *cases, const struct lab_spec *spec, const struct options *base, const struct card *card)
{
    for (int i = 0; i < cases->named; i++) {
        cases->settings[i] = settle(spec, base, cases->variant[i], card);
        cases->of[i] = i;
        cases->change[i] = NULL;
    }
    for (int i = 0; ((const struct run *)base)->verdict && i < cases->named; i++)
        for (const struct lab_change *change = spec->changes; change->suspect; change++)
            add_changed(cases, spec, base, i, change, card);
}

int cases_changed(const struct cases *cases, int of, const struct lab_change *change)
{
    for (int i = cases->named; i < cases->count; i++)
        if (cases->of[i] == of && cases->change[i] == change)
            return i;
    return -1;
}

void cases_close(struct cases *cases)
{
    for (int i = 0; i < cases->count; i++)
        free(cases->settings[i]);
    *cases = (struct cases){ 0 };
}

void cases_find_brief(const struct cases *cases, const struct lab_spec *spec, const struct card *card, bool *brief)
{
    const double BRIEF = 5e-3; /* seconds of a step */
    for (int i = 0; i < cases->count; i++) {
        const struct prediction predicted = spec->predict(cases->settings[i], card);
        brief[i] = prediction_step(&predicted) < BRIEF; /* not if NaN */
    }
}

void cases_lengthen(struct cases *cases, const bool *brief)
{
    for (int i = 0; i < cases->count; i++)
        run_of(cases->settings[i])->whole |= brief[i];
}

int cases_common_steps(const struct cases *cases)
{
    int least = INT_MAX;
    for (int i = 0; i < cases->count; i++) {
        const struct window window = run_window(run_of(cases->settings[i]));
        least = window.warmup + window.measured < least ? window.warmup + window.measured : least;
    }
    return least;
}

int cases_quick_rounds(const struct cases *cases)
{
    enum { ENOUGH = 4 };
    int fewest = ENOUGH;
    for (int i = 0; i < cases->count; i++) {
        int measured = run_window(run_of(cases->settings[i])).measured;
        fewest = measured < fewest ? measured : fewest;
    }
    return (ENOUGH + fewest - 1) / fewest;
}

enum { PHASES = 6, FEW = 10 }; /* spans of a micro-batch; collectives of a step */

static int spans_of_step(const struct cases *cases, const struct lab_spec *spec, int i)
{
    int collectives = FEW + (spec->collectives ? spec->collectives(cases->settings[i]) : 0);
    return collectives + PHASES * run_of(cases->settings[i])->accumulate;
}

int cases_most_spans(const struct cases *cases, const struct lab_spec *spec)
{
    int most = 0;
    for (int i = 0; i < cases->count; i++) {
        struct window window = run_window(run_of(cases->settings[i]));
        int spans = spans_of_step(cases, spec, i) * (window.warmup + window.measured);
        most = spans > most ? spans : most;
    }
    return most;
}

double cases_record(const struct cases *cases, const struct lab_spec *spec)
{
    double ranks = 0, kept = 0, most = cases_most_spans(cases, spec), span = sizeof(struct span);
    for (int i = 0; i < cases->count; i++) {
        struct run *run = run_of(cases->settings[i]);
        struct window window = run_window(run);
        double made = spans_of_step(cases, spec, i) - FEW; /* a step records hardly more */
        kept += made * (window.warmup + window.measured) * run->ranks;
        ranks = fmax(ranks, run->ranks);
    }
    return (ranks * most + kept) * span;
}
