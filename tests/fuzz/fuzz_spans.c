/* fuzz_spans.c: read spans as tools/blame does, split them into wait and transfer, and replay them. */
#include "fuzz.h"

#include "analysis/what_if.h"
#include "blame/spans_file.h"

#include <stdlib.h>

static void split(const struct timeline *timeline)
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

void fuzz_read(const char *path)
{
    struct spans_file *file = spans_file_open(path, &(struct spans_wishes){ .skip_first_steps = -1 });
    for (int i = 0; i < file->count; i++)
        for (int block = 0; block < file->cases[i].count; block++)
            split(&file->cases[i].blocks[block].timeline);
    free(spans_file_head(file));
    spans_file_close(file);
}
