#include "report/bound_show.h"

#include "base/number.h"

#include <math.h>
#include <stdlib.h>

/* Print a cause of the step, and of waiting what makes the last rank late: "wait for rank 0's data". */
static void put_cause(FILE *out, const struct outcome *o, int term)
{
    const struct case_summary *s = &o->summary;
    fputs(s->bound.name[term], out);
    if (term != SPLIT_WAIT || s->late_by < 0)
        return;
    if (s->blamed_rank >= 0)
        fprintf(out, " for rank %d's %s", timeline_rank(&o->picture, s->blamed_rank), split_names[s->late_by]);
    else
        fprintf(out, " for the last rank's %s", split_names[s->late_by]);
}

/* Print which cause makes up most of what a case takes beyond the baseline, if it is slower for certain and one cause has half of that. */
static void put_added(FILE *out, const struct outcome *o, const struct outcome *baseline)
{
    const struct split_step *ours = &o->summary.split, *theirs = &baseline->summary.split;
    const double more = ours->step - theirs->step;
    int most = 0;
    if (ours->is_together || theirs->is_together || !(o->summary.vs_baseline.low > 1))
        return;
    for (int term = 1; term < SPLIT_TERMS; term++)
        most = ours->term[term] - theirs->term[term] > ours->term[most] - theirs->term[most] ? term : most;
    const double added = ours->term[most] - theirs->term[most];
    const int decimals = number_ms_decimals(ours->step);
    if (added < more / 2)
        return;
    fprintf(out, "Of the %.*f ms that it takes beyond the baseline, %.*f are ", decimals, 1e3 * more, decimals,
            1e3 * fmin(added, more));
    put_cause(out, o, most);
    fputs(".\n", out);
}

void bound_show(FILE *out, const struct outcome *o, const struct outcome *baseline)
{
    const struct bound_by *bound = &o->summary.bound;
    if (!bound->terms)
        return;
    char *text = bound_by_sentence(bound);
    fprintf(out, "A step of %s is %s.\n", o->name, text);
    free(text);
    put_added(out, o, baseline);
}
