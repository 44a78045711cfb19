#include "answer.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct answer answer_find(const struct spans_file *file, const struct report *report, const struct outcome *shown)
{
    const struct spans_case *of = &file->cases[0];
    while (strcmp(of->name, shown->name) != 0)
        of++;
    struct answer answer = { .file = file, .report = report, .shown = shown, .hosts = hosts_open(of) };
    answer.culprit = culprit_find(of, shown, &answer.hosts, file->missing_ranks > 0);
    answer.fixes = fixes_find(of, shown, &answer.hosts, &answer.culprit);
    if (!culprit_is_named(&answer.culprit) && answer.fixes.leader >= 0 && file->missing_ranks == 0)
        answer.culprit = culprit_of_replay(shown, answer.fixes.leader, answer.fixes.led);
    if (file->missing_ranks > 0 && !culprit_is_named(&answer.culprit)) /* a missing rank may decide what a fix gains */
        answer.fixes.are_known = false;
    if (!shown->stats.wrong.count)
        answer.hint = hint_of(shown, &answer.culprit, &answer.hosts);
    return answer;
}

void answer_close(struct answer *answer)
{
    hosts_close(&answer->hosts);
    fixes_close(&answer->fixes);
    free(answer->hint.next);
    *answer = (struct answer){ 0 };
}

static const char *unit_of(const struct answer *answer)
{
    return answer->report->is_simulated ? "core" : answer->report->trains_on;
}

char *answer_sentence(const struct answer *a)
{
    const struct outcome *o = a->shown;
    if (o->stats.wrong.count)
        return memory_text("The recording contradicts itself, so no result is shown: %s.", o->stats.wrong.first);
    if (isnan(o->summary.mean.wait))
        return memory_text("Which rank waited for which is not known here.");
    if (!culprit_is_named(&a->culprit))
        return memory_text("Of every 100 %s-seconds of %s, %.0f were spent waiting; %s.", unit_of(a), o->name,
                           o->summary.mean.step > 0 ? 100 * o->summary.mean.wait / o->summary.mean.step : 0,
                           o->summary.is_too_short ? "too few steps to tell a cause from chance"
                                                   : "no rank stands out as the cause");
    char *who = culprit_name(&a->culprit, o, &a->hosts);
    char *sentence = memory_text("Of every 100 %s-seconds of %s, %.0f waited for %s%s%s.", unit_of(a), o->name,
                                 100 * a->culprit.share, who, a->culprit.phase < 0 ? "" : ", late in its ",
                                 a->culprit.phase < 0 ? "" : culprit_phase_name(a->culprit.phase));
    free(who);
    return sentence;
}
