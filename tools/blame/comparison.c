#include "comparison.h"

#include "base/die.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/stats.h"
#include "job_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct outcome *same_case(const struct report *after, const char *path, const struct outcome *before)
{
    for (int i = 0; i < after->cases; i++)
        if (strcmp(after->outcomes[i].name, before->name) == 0)
            return &after->outcomes[i];
    if (after->cases > 1)
        die(STATUS_USAGE, "%s has no case '%s', but %d others; choose one that both recordings have by --case", path,
            before->name, after->cases);
    return &after->outcomes[0];
}

/* Find the promised gain: a fault may lengthen one phase of a rank, or several, as a slow core does. */
static void find_promises(struct comparison *c, const struct answer *a)
{
    const struct fixes *fixes = &a->fixes;
    for (int i = 0; i < fixes->count && fixes->are_known; i++) {
        const struct fix *fix = &fixes->at[i];
        bool is_of_culprit =
            culprit_is_named(&a->culprit) && fix->rank == a->culprit.rank && fix->host == a->culprit.host;
        if (is_of_culprit && (fix->phase == SPAN_PHASES || fix->phase == a->culprit.phase))
            c->promises[c->count++] = fix;
    }
    if (c->count == 0 && fixes->are_known && fixes->count > 0)
        c->promises[c->count++] = &fixes->at[0];
}

/* Compare the steps. The interval is that of the ratio of the slowest ranks' steps, around the means' own difference. */
static void compare(struct comparison *c, const struct outcome *before, const struct outcome *after)
{
    const struct case_stats *b = &before->stats, *a = &after->stats;
    const bool is_right = b->wrong.count == 0 && a->wrong.count == 0;
    struct ratio ratio = stats_block_ratio(a->slowest, a->windows, b->slowest, b->windows);
    c->before = before->summary.mean.step;
    c->after = is_right ? after->summary.mean.step : (double)NAN;
    c->gain = c->before - c->after;
    c->low = c->gain - c->before * (ratio.high - ratio.value);
    c->high = c->gain + c->before * (ratio.value - ratio.low);
}

struct comparison comparison_of(const struct answer *before, const char *path, const struct trace_options *options,
                                const struct spans_wishes *wishes)
{
    struct sources sources = { 0 };
    sources_add(&sources, path);
    struct spans_file *file = sources_open(&sources, options, wishes);
    struct report report = job_report_open(file, before->report->folder, NULL);
    const struct outcome *after = same_case(&report, path, before->shown);
    if (after->stats.ranks != before->shown->stats.ranks)
        die(STATUS_USAGE, "%s has %d ranks, and %s %d: not the same job; record it again with as many ranks", path,
            after->stats.ranks, before->file->path, before->shown->stats.ranks);
    struct comparison c = { .path = path };
    find_promises(&c, before);
    compare(&c, before->shown, after);
    struct answer answer = answer_find(file, &report, after);
    c.sentence = answer_sentence(&answer);
    answer_close(&answer);
    job_report_close(&report);
    spans_file_close(file);
    sources_close(&sources);
    return c;
}

void comparison_close(struct comparison *c)
{
    free(c->sentence);
    *c = (struct comparison){ 0 };
}

/* Return "66.0 ms (rank 1: all phases), 65.8 ms (rank 1: data)", or "nothing". Free it. */
static char *promises_text(const struct comparison *c, const struct answer *before, int decimals)
{
    char *text = memory_text(c->count == 0 ? "nothing" : "");
    for (int i = 0; i < c->count; i++) {
        char *name = fix_name(c->promises[i], before->shown, &before->hosts);
        char *longer =
            memory_text("%s%s%.*f ms (%s)", text, i > 0 ? ", " : "", decimals, 1e3 * c->promises[i]->gain, name);
        free(name);
        free(text);
        text = longer;
    }
    return text;
}

char *comparison_text(const struct comparison *c, const struct answer *before)
{
    const int decimals = number_ms_decimals(c->before);
    if (isnan(c->gain))
        return memory_text("After the fix (%s): %s", c->path, c->sentence);
    const bool is_longer = c->gain < 0;
    char *promises = promises_text(c, before, decimals);
    char *text = memory_text("After the fix (%s): a step takes %.*f ms, %.*f ms %s (95 %% interval %.*f to %.*f). The "
                             "what-if promised %s. %s",
                             c->path, decimals, 1e3 * c->after, decimals, 1e3 * fabs(c->gain),
                             is_longer ? "more" : "less", decimals, 1e3 * (is_longer ? -c->high : c->low), decimals,
                             1e3 * (is_longer ? -c->low : c->high), promises, c->sentence);
    free(promises);
    return text;
}
