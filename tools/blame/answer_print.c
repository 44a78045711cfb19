#include "answer.h"
#include "comparison.h"
#include "job_report.h"
#include "launch/job.h"
#include "report/lanes.h"
#include "report/terminal_tables.h"

#include <stdio.h>
#include <stdlib.h>

static void print_summary(const struct report *r, const struct spans_file *file)
{
    const struct outcome *first = &r->outcomes[0];
    const struct timeline *t = &file->cases[job_report_case(file, NULL, first->name)].blocks[0].timeline;
    printf("%s: %d rank%s, %d case%s; of %s %d step%s measured, from step %d on, in %d round%s.\n", file->path,
           r->ranks, r->ranks == 1 ? "" : "s", r->cases, r->cases == 1 ? "" : "s", first->name, first->stats.steps,
           first->stats.steps == 1 ? "" : "s", t->first_step, first->stats.rounds, first->stats.rounds == 1 ? "" : "s");
    if (first->stats.every > 1)
        printf("The steps repeat in cycles of %d.\n", first->stats.every);
    if (t->clock_error > 0)
        printf("Clocks may differ by %.3g ms: shorter waits count as transfer.\n", 1e3 * t->clock_error);
    if (file->missing_ranks > 0)
        printf("%d of %d ranks have no trace here, so waits are lower bounds.\n", file->missing_ranks,
               file->missing_ranks + r->ranks);
    if (t->hides_arrivals)
        printf("The spans do not show when a rank arrived, so wait and transfer are n/a.\n");
}

/* Print the host, or the rank of a pipeline, that stands out where no rank does by its arrivals. */
static void print_other(const struct answer *a)
{
    if (!culprit_is_named(&a->culprit) || a->shown->summary.blamed_rank >= 0)
        return;
    char *sentence = answer_sentence(a);
    printf("But one %s. %s\n",
           a->culprit.host >= 0 ? "host stands out: its ranks are late together"
                                : "rank stands out when the steps are replayed with each rank as fast as the others",
           sentence);
    free(sentence);
}

void answer_print(const struct answer *a, const char *why_withdrawn, const struct comparison *comparison)
{
    const struct report *r = a->report;
    const struct outcome *shown = a->shown;
    const struct terminal terminal = job_terminal();
    const char *names[] = { r->outcomes[0].name, shown == r->outcomes ? NULL : shown->name, NULL };
    print_summary(r, a->file);
    lanes_draw(stdout, r, names, terminal);
    if (r->cases > 1)
        table_show(stdout, r, terminal.columns);
    if (shown->stats.wrong.count) {
        printf("\n%s: WRONG, so no result is shown.\n", shown->name);
        return;
    }
    if (r->cases > 1)
        printf("\n%s, rank by rank:", shown->name);
    table_ranks(stdout, shown);
    putchar('\n');
    if (why_withdrawn)
        puts(why_withdrawn);
    table_blame(stdout, r, shown);
    if (r->cases == 1)
        printf("No other case to compare with: a rank is blamed if it caused more than three quarters of the "
               "waiting,\nand caused most of it in more %s than chance explains.\n",
               shown->stats.culprits.stretch == 1 ? "steps"
               : a->file->rank_numbers            ? "stretches of steps"
                                                  : "rounds, or stretches of four steps,");
    print_other(a);
    fixes_print(stdout, &a->fixes, shown, &a->hosts);
    printf("\nNext: %s\n", a->hint.next);
    if (comparison->path) {
        char *text = comparison_text(comparison, a);
        printf("\n%s\n", text);
        free(text);
    }
}
