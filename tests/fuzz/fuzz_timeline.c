#include "fuzz_timeline.h"

#include "analysis/what_if.h"

#include <stdlib.h>

void fuzz_timeline(const struct timeline *timeline)
{
    struct cell *cells = malloc((size_t)timeline->steps * (size_t)timeline->ranks * sizeof *cells);
    if (!cells)
        abort();
    timeline_split(timeline, cells);
    volatile double what_if = timeline_what_if(timeline);
    (void)what_if;
    struct what_if *replay = what_if_open(timeline);
    bool *ranks = malloc((size_t)timeline->ranks * sizeof *ranks);
    if (!ranks)
        abort();
    for (int rank = 0; rank < timeline->ranks; rank++)
        ranks[rank] = rank % 2;
    if (replay)
        what_if = what_if_sum(replay, (struct what_if_fix){ ranks, SPAN_PHASES });
    what_if_close(replay);
    free(ranks);
    free(cells);
}
