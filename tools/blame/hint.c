#include "hint.h"

#include "base/memory.h"
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>

/* Return the phase in which `rank` exceeds the median rank most. */
static enum span_kind excess_of(const struct case_stats *t, int rank)
{
    double *others = memory_new((size_t)t->ranks, sizeof *others), most = 0;
    int found = SPAN_DATA;
    for (int kind = 0; kind < SPAN_PHASES; kind++) {
        for (int r = 0; r < t->ranks; r++)
            others[r] = t->sum[r].phase[kind];
        double excess = t->sum[rank].phase[kind] - stats_lower_median(others, t->ranks);
        if (excess > most) {
            most = excess;
            found = kind;
        }
    }
    free(others);
    return (enum span_kind)found;
}

/* Return the rank charged with more than three quarters of all waiting, for a case without a blamed rank; -1 if none. */
static int suspect_of(const struct case_stats *t)
{
    double all = 0;
    int most = 0;
    for (int rank = 0; rank < t->ranks; rank++) {
        all += t->sum[rank].caused;
        most = t->sum[rank].caused > t->sum[most].caused ? rank : most;
    }
    return t->sum[most].caused > 0.75 * all ? most : -1;
}

static bool has_collectives(const struct timeline *t)
{
    for (int i = 0; i < t->ranks * t->count; i++)
        if (t->spans[i].step >= 0 && !span_is_phase(&t->spans[i]))
            return true;
    return false;
}

void hint_tell(FILE *out, const struct outcome *o)
{
    static const double much = 0.15; /* share of a step; less is hardly worth a lesson */
    const struct case_summary *s = &o->summary;
    const struct step_means *mean = &s->mean;
    fprintf(out, "\nNext: ");
    const bool has_any_collective = has_collectives(&o->picture);
    if (o->stats.ranks == 1 && o->picture.numbers) {
        fprintf(out, "give the traces of the other ranks too: one rank's trace does not show waits.\n");
    } else if (o->stats.ranks == 1 && has_any_collective) {
        fprintf(out, "add the spans of the other ranks: one rank's spans do not show waits. Put all ranks of a job "
                     "into one\nfile, as in  cat spans-*.csv > spans.csv\n");
    } else if (o->stats.ranks > 1 && !has_any_collective) {
        fprintf(out, "add a row for each collective (%s …): without them waits cannot be computed.\n",
                span_names[SPAN_PHASES]);
    } else if (isnan(mean->wait)) {
        fprintf(out, "record when each rank arrives, as notebooks-md/your_own_job.md explains.\n");
    } else if (s->blamed_rank >= 0 && mean->wait > much * mean->step) {
        enum span_kind kind = excess_of(&o->stats, s->blamed_rank);
        fprintf(out, "rank %d is late in its %s; notebooks-md/%s.md tries what helps.\n",
                timeline_rank(&o->picture, s->blamed_rank), span_names[kind],
                kind == SPAN_HOST ? "02_rank0_host" : "01_straggler");
    } else if (mean->wait > much * mean->step && suspect_of(&o->stats) >= 0) {
        fprintf(out,
                "most of the waiting is for rank %d, but chance or the baseline explain as much; record more than %d "
                "steps.\n",
                timeline_rank(&o->picture, suspect_of(&o->stats)), o->stats.steps);
    } else if (mean->wait > much * mean->step && mean->wait >= mean->transfer) {
        fprintf(out, "a different rank is late each time, as with unequal batches; notebooks-md/05_token_skew.md evens "
                     "them out.\n");
    } else if (mean->transfer > much * mean->step) {
        fprintf(out, "transfer is %.0f %% of a step; notebooks-md/03_comm_bound.md asks what makes it cheaper.\n",
                100 * mean->transfer / mean->step);
    } else if (mean->host > much * mean->step) {
        fprintf(out,
                "all ranks work on the host for %.0f %% of a step; notebooks-md/02_rank0_host.md tries what helps.\n",
                100 * mean->host / mean->step);
    } else if (mean->data > much * mean->step) {
        fprintf(out, "all ranks fetch for %.0f %% of a step; notebooks-md/01_straggler.md tries fetching ahead.\n",
                100 * mean->data / mean->step);
    } else {
        fprintf(out, "ranks wait little: most of a step is each rank's own work (notebooks-md/04_small_work.md).\n");
    }
}
