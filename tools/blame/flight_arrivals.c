#include "flight_arrivals.h"

#include "base/memory.h"

#include <stdlib.h>

struct arrivals {
    int last;       /* collectives that this rank called last */
    double late_ms; /* sum over them: how long after the rank before */
};

/* Count a collective for the rank that called it last. Return false if not all members have it, or if it has no times. */
static bool count_last(const struct flight_team *team, int64_t sequence, struct arrivals *arrivals)
{
    int64_t latest = 0, second = 0;
    int last = 0;
    for (int i = 0; i < team->members; i++) {
        const struct flight_call *call = flight_call_at(&team->member[i], sequence);
        if (!call || call->created <= 0)
            return false;
        if (call->created > latest) {
            second = latest;
            latest = call->created;
            last = i;
        } else if (call->created > second) {
            second = call->created;
        }
    }
    arrivals[last].last++;
    arrivals[last].late_ms += 1e-6 * (double)(latest - second);
    return true;
}

static void print_team(FILE *out, const struct flight_team *team)
{
    enum { SHOWN = 16 };
    struct arrivals *arrivals = memory_new((size_t)team->members + 1, sizeof *arrivals);
    const struct flight_member *first = &team->member[0];
    int counted = 0;
    for (int i = 0; i < first->count; i++)
        counted += count_last(team, first->call[i].sequence, arrivals);
    if (counted > 0)
        fprintf(out, "\ngroup %s: %d collectives\n        called last   ms after the rank before (mean)\n", team->name,
                counted);
    for (int i = 0; counted > 0 && i < team->members && i < SHOWN; i++)
        fprintf(out, "rank %-3d%10.0f %%   %10.3f\n", team->member[i].rank, 100.0 * arrivals[i].last / counted,
                arrivals[i].last ? arrivals[i].late_ms / arrivals[i].last : 0.0);
    if (counted > 0 && team->members > SHOWN)
        fprintf(out, "… and %d more ranks\n", team->members - SHOWN);
    free(arrivals);
}

void flight_arrivals_print(FILE *out, const struct flight_job *job)
{
    for (int i = 0; i < job->teams; i++)
        if (job->team[i].members > 1)
            print_team(out, &job->team[i]);
    fputs("\nNext: times of the last collectives say who came last, not why; record spans or traces "
          "(notebooks-md/your_own_job.md).\n",
          out);
}
