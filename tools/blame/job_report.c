#include "job_report.h"

#include "analysis/what_if.h"
#include "base/die.h"
#include "base/memory.h"
#include "report/picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Return the simulated machine, from the comments at the head of the file; NULL: none. Free it. */
static char *platform_of(const struct spans_file *file)
{
    static const char key[] = "platform ";
    char *simulated = csv_comment(&file->table, "simulated", 0), *platform = NULL;
    if (simulated && strncmp(simulated, key, strlen(key)) == 0)
        platform = memory_text("%.*s", (int)strcspn(simulated + strlen(key), ","), simulated + strlen(key));
    free(simulated);
    return platform;
}

int job_report_case(const struct spans_file *file, const char *flag, const char *name)
{
    for (int i = 0; i < file->count; i++)
        if (strcmp(file->cases[i].name, name) == 0)
            return i;
    if (flag)
        die(STATUS_USAGE, "%s names no case of %s: '%s'; the first case is '%s'", flag, file->path, name,
            file->cases[0].name);
    return 0;
}

/* Return the number of steps in a row that count once; 0: as in labs. A profiler records few steps, so of a short trace each step counts:
 * what disturbs a rank for all of them then looks like the rank's own fault. */
static int stretch_of(const struct spans_file *file)
{
    enum { STRETCHES = 8, STRETCH = 4 };
    int steps = file->rank_numbers ? file->cases[0].blocks[0].timeline.steps : 0;
    return steps == 0 ? 0 : steps < 2 * STRETCHES ? 1 : steps < STRETCH * STRETCHES ? steps / STRETCHES : STRETCH;
}

static struct outcome outcome_of(const struct spans_case *of, bool is_simulated, int stretch)
{
    static const struct prediction none = PREDICTION_UNKNOWN;
    struct outcome o = { .name = of->name, .device = "", .prediction = none, .guess = NAN };
    o.run = (struct run){ .ranks = of->ranks, .cycle = of->blocks[0].every };
    case_stats_open(&o.stats, &o.run, is_simulated);
    if (stretch > 0)
        o.stats.culprits.stretch = stretch;
    for (int i = 0; i < of->count; i++) {
        const struct timeline *round = &of->blocks[i].timeline;
        case_stats_add(&o.stats, round, NULL);
        if (picture_is_nearer(&o, round))
            o.picture = *round;
    }
    o.idea = memory_text("%d step%s of %d rank%s", o.stats.steps, o.stats.steps == 1 ? "" : "s", of->ranks,
                         of->ranks == 1 ? "" : "s");
    return o;
}

/* Return the step if every rank were as fast as the median rank, for ranks whose calls differ or overlap with waits; NaN if unknown. */
static double replayed_what_if(const struct spans_case *of, double step)
{
    bool *all = memory_new((size_t)of->ranks, sizeof *all);
    double unchanged = 0, fixed = 0;
    for (int rank = 0; rank < of->ranks; rank++)
        all[rank] = true;
    for (int i = 0; i < of->count; i++) {
        struct what_if *w = what_if_open(&of->blocks[i].timeline);
        unchanged += w ? what_if_sum(w, (struct what_if_fix){ NULL, SPAN_PHASES }) : (double)NAN;
        fixed += w ? what_if_sum(w, (struct what_if_fix){ all, SPAN_PHASES }) : (double)NAN;
        what_if_close(w);
    }
    free(all);
    return unchanged > 0 ? step * fixed / unchanged : (double)NAN;
}

struct report job_report_open(const struct spans_file *file, const char *folder, const char *named_baseline)
{
    char *platform = platform_of(file), *head = spans_file_head(file);
    struct report r = { .lab = "blame",
                        .folder = folder,
                        .backend = "",
                        .platform = platform ? platform : memory_text("%s", ""),
                        .trains_on = "rank",
                        .is_simulated = platform,
                        .has_only_spans = true,
                        .has_intervals = true,
                        .cases = file->count };
    r.preamble = memory_text("# lockstep: %s\n# spans: %s\n%s", LOCKSTEP_VERSION, file->path, head);
    free(head);
    r.outcomes = memory_new((size_t)r.cases, sizeof *r.outcomes);
    int baseline =
        job_report_case(file, named_baseline ? "--baseline" : NULL, named_baseline ? named_baseline : "baseline");
    r.outcomes[0] = outcome_of(&file->cases[baseline], r.is_simulated, stretch_of(file));
    for (int i = 0, next = 1; i < file->count; i++)
        if (i != baseline)
            r.outcomes[next++] = outcome_of(&file->cases[i], r.is_simulated, stretch_of(file));
    for (int i = 0; i < r.cases; i++) {
        struct outcome *o = &r.outcomes[i];
        o->summary = case_stats_summarise(&o->stats, r.cases > 1 ? &r.outcomes[0].stats : NULL);
        if (isnan(o->summary.what_if))
            o->summary.what_if =
                replayed_what_if(&file->cases[job_report_case(file, NULL, o->name)], o->summary.mean.step);
        r.ranks = o->run.ranks > r.ranks ? o->run.ranks : r.ranks;
        r.has_intervals &= o->stats.rounds > 2;
    }
    return r;
}

void job_report_close(struct report *r)
{
    for (int i = 0; i < r->cases; i++) {
        case_stats_close(&r->outcomes[i].stats);
        free((void *)r->outcomes[i].idea);
    }
    free(r->outcomes);
    free((void *)r->platform);
    free((void *)r->preamble);
}

const struct outcome *job_report_shown(const struct report *r, const char *name)
{
    if (name)
        return report_find_case(r, name);
    const struct outcome *shown = &r->outcomes[r->cases > 1];
    for (int i = 1; i < r->cases; i++)
        if (r->outcomes[i].summary.mean.exposed - fmax(0, r->outcomes[i].summary.mean.transfer) >
            shown->summary.mean.exposed - fmax(0, shown->summary.mean.transfer))
            shown = &r->outcomes[i];
    return shown;
}
