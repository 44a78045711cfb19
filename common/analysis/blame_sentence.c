#include "analysis/blame_sentence.h"

#include "analysis/matched_collectives.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reasons for a late arrival: a kind of work (forward and backward count as one), or a late beginning of the step. */
enum { DATA, COMPUTE, HOST, UPDATE, OTHER, WORKS, BEGINNING = WORKS, REASONS };
static const char *const work_names[WORKS] = { "data", "compute", "host work", "update", "other work" };

static int work_of(const struct span *phase)
{
    switch (phase->kind) {
    case SPAN_DATA:
        return DATA;
    case SPAN_HOST:
        return HOST;
    case SPAN_UPDATE:
        return UPDATE;
    case SPAN_OTHER:
        return OTHER;
    default:
        return COMPUTE;
    }
}

/* A collective of the step, and each member's wait in it. */
struct scene {
    const struct matched *collective;
    double *waits; /* (members) */
    double longest, sum;
    double length; /* of the step */
};

/* Compute the waits in a collective; false if a rank's wait is unknown. */
static bool wait_at(const struct timeline *t, const struct matched *collective, struct scene *scene)
{
    scene->collective = collective;
    scene->longest = scene->sum = 0;
    for (int member = 0; member < collective->members; member++) {
        struct parts parts = parts_of(t, (struct matched_call){ collective, member });
        if (!parts.is_known)
            return false;
        scene->waits[member] = parts.wait;
        scene->longest = fmax(scene->longest, parts.wait);
        scene->sum += parts.wait;
    }
    return true;
}

/* Find the collective in which the ranks waited longest in sum; false if there is none, or if a wait is unknown. */
static bool find_longest(const struct timeline *t, const struct matched_collectives *matched, int step,
                         struct scene *longest)
{
    struct scene scene = { .waits = memory_new((size_t)t->ranks, sizeof *scene.waits) };
    bool is_known = true, is_found = false;
    for (int n = 0; n < matched->count && is_known; n++) {
        const struct matched *collective = &matched->at[n];
        if (collective->at[0]->step != step)
            continue;
        is_known = wait_at(t, collective, &scene);
        if (!is_known || (is_found && !(scene.sum > longest->sum)))
            continue;
        is_found = true;
        double *waits = longest->waits, length = longest->length;
        memcpy(waits, scene.waits, (size_t)collective->members * sizeof *waits);
        *longest = scene;
        longest->waits = waits;
        longest->length = length;
    }
    free(scene.waits);
    return is_known && is_found;
}

static double length_of(const struct timeline *t, int step)
{
    double begin = INFINITY, end = -INFINITY;
    for (int i = 0; i < t->ranks * t->count; i++)
        if (t->spans[i].step == step) {
            begin = fmin(begin, t->spans[i].start);
            end = fmax(end, t->spans[i].end);
        }
    return end - begin;
}

/* Seconds that a rank spent on each kind of work in this step, between the previous collective and this one. If there is no
 * previous one, work[BEGINNING] is the time when the rank's step began. */
static void work_before(const struct timeline *t, const struct span *collective, int rank, double work[REASONS])
{
    const struct span *spans = t->spans + (size_t)rank * (size_t)t->count;
    double begin = -INFINITY, began = INFINITY;
    for (int i = 0; i < t->count; i++)
        if (spans[i].step == collective->step && !span_is_phase(&spans[i]) && spans[i].end <= collective->start)
            begin = fmax(begin, spans[i].end);
    memset(work, 0, REASONS * sizeof *work);
    for (int i = 0; i < t->count; i++)
        if (spans[i].step == collective->step && span_is_phase(&spans[i])) {
            began = fmin(began, spans[i].start);
            work[work_of(&spans[i])] += fmax(0, fmin(spans[i].end, collective->start) - fmax(spans[i].start, begin));
        }
    work[BEGINNING] = isinf(begin) ? began : 0;
}

/* --- text ------------------------------------------------------------------------------------------------------- */

/* Text such as "39.8", returned by value. */
struct number {
    char text[32];
};

static struct number in_ms(double seconds)
{
    struct number number;
    snprintf(number.text, sizeof number.text, "%.*f", number_ms_decimals(seconds), 1e3 * seconds);
    return number;
}

static void print_reason(FILE *out, const struct timeline *t, const struct scene *scene)
{
    const struct matched *c = scene->collective;
    int others = c->members - 1, most = 0, other = -1;
    double own[REASONS], work[REASONS], typical[REASONS];
    double *all = memory_new((size_t)REASONS * (size_t)others, sizeof *all);
    for (int member = 0, at = 0; member < c->members; member++) {
        bool is_last = c->rank[member] == c->last;
        work_before(t, c->at[member], c->rank[member], is_last ? own : work);
        for (int kind = 0; kind < REASONS && !is_last; kind++)
            all[kind * others + at] = work[kind];
        at += !is_last;
        other = is_last ? other : c->rank[member];
    }
    for (int kind = 0; kind < REASONS; kind++) {
        typical[kind] = stats_lower_median(all + (ptrdiff_t)kind * others, others);
        if (own[kind] - typical[kind] > own[most] - typical[most])
            most = kind;
    }
    free(all);
    if (own[most] - typical[most] < scene->longest / 2)
        return;
    if (most == BEGINNING) {
        fprintf(out, ", which began the step %s ms later", in_ms(own[most] - typical[most]).text);
        return;
    }
    fprintf(out, ": its %s took %s ms", work_names[most], in_ms(own[most]).text);
    if (typical[most] > 0 && others == 1)
        fprintf(out, ", rank %d's %s ms", timeline_rank(t, other), in_ms(typical[most]).text);
    else if (typical[most] > 0)
        fprintf(out, ", theirs %s ms", in_ms(typical[most]).text);
}

/* The members that are named: those that waited at least half as long as the longest wait. */
static bool is_named(const struct scene *scene, int member)
{
    return scene->waits[member] >= scene->longest / 2;
}

/* Print the named members: "ranks 1 to 3", "ranks 0, 2 and 3". Return the shortest of their waits. */
static double print_ranks(FILE *out, const struct timeline *t, const struct scene *scene)
{
    enum { NAMED_MOST = 4 };
    const struct matched *c = scene->collective;
    int named[NAMED_MOST], count = 0, last = -1;
    double least = scene->longest;
    for (int member = 0; member < c->members; member++)
        if (is_named(scene, member)) {
            if (count < NAMED_MOST)
                named[count] = timeline_rank(t, c->rank[member]);
            last = timeline_rank(t, c->rank[member]);
            count++;
            least = fmin(least, scene->waits[member]);
        }
    char group[32] = "";
    if (c->at[0]->group > 0)
        snprintf(group, sizeof group, " of group %d", c->at[0]->group);
    if (count > 2 && last - named[0] == count - 1)
        fprintf(out, "ranks %d to %d wait ", named[0], last);
    else if (count > NAMED_MOST && count == c->members - 1)
        fprintf(out, "the other %d ranks%s wait ", count, group);
    else if (count > NAMED_MOST)
        fprintf(out, "%d of %d ranks%s wait ", count, c->members, group);
    else
        for (int i = 0; i < count; i++)
            fprintf(out, "%s%d%s",
                    i == 0           ? count == 1 ? "rank " : "ranks "
                    : i == count - 1 ? " and "
                                     : ", ",
                    named[i],
                    i < count - 1 ? ""
                    : count == 1  ? " waits "
                                  : " wait ");
    return least;
}

static void print_waits(FILE *out, const struct timeline *t, const struct scene *scene)
{
    struct number from = in_ms(print_ranks(out, t, scene)), to = in_ms(scene->longest);
    if (strcmp(from.text, to.text) != 0)
        fprintf(out, "%s to ", from.text);
    fprintf(out, "%s ms", to.text);
}

/* Return the rank for which all named members wait; -1 if they wait for several. */
static int awaited_by_all(const struct scene *scene)
{
    int awaited = -1;
    for (int member = 0; member < scene->collective->members; member++) {
        int rank = matched_awaited((struct matched_call){ scene->collective, member }).rank;
        if (is_named(scene, member) && awaited >= 0 && rank != awaited)
            return -1;
        awaited = is_named(scene, member) ? rank : awaited;
    }
    return awaited;
}

static char *describe(const struct timeline *t, const struct scene *scene)
{
    char *text = NULL;
    size_t size = 0;
    if (scene->longest < 1e-6 && t->clock_error > 1e-6)
        return memory_text("no rank waits longer than the %s ms by which clocks may differ",
                           in_ms(t->clock_error).text);
    if (scene->longest < 1e-6)
        return memory_text("no rank waits");
    if (scene->longest < scene->length / 20)
        return memory_text("no rank waits longer than %s ms", in_ms(scene->longest).text);
    FILE *out = memory_stream(&text, &size);
    print_waits(out, t, scene);
    int awaited = awaited_by_all(scene);
    if (awaited >= 0)
        fprintf(out, " for rank %d", timeline_rank(t, awaited));
    else if (span_has_peers(scene->collective->at[0]))
        fputs(" for the ranks with which they exchange messages", out);
    else
        fputs(" for the last ranks, which arrive together", out);
    if (scene->collective->last >= 0)
        print_reason(out, t, scene);
    fclose(out);
    return text;
}

char *blame_sentence(const struct timeline *t, int step, int *last)
{
    struct matched_collectives matched = matched_collectives_find(t);
    struct scene scene = { .waits = memory_new((size_t)t->ranks, sizeof *scene.waits), .length = length_of(t, step) };
    char *text = NULL;
    *last = -1;
    if (t->ranks > 1 && matched.are_alike && find_longest(t, &matched, step, &scene)) {
        text = describe(t, &scene);
        *last = scene.collective->last;
    }
    free(scene.waits);
    matched_collectives_close(&matched);
    return text;
}
