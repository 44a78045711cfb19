/* fuzz_spans.c: read spans as tools/blame does, and split them into wait and transfer. */
#include "fuzz.h"

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
