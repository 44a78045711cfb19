/* fuzz_spans.c: read spans as tools/blame does, split them into wait and transfer, and replay them. */
#include "fuzz.h"
#include "fuzz_timeline.h"

#include "blame/spans_file.h"

#include <stdlib.h>

void fuzz_read(const char *path)
{
    struct spans_file *file = spans_file_open(path, &(struct spans_wishes){ .skip_first_steps = -1 });
    for (int i = 0; i < file->count; i++)
        for (int block = 0; block < file->cases[i].count; block++)
            fuzz_timeline(&file->cases[i].blocks[block].timeline);
    free(spans_file_head(file));
    spans_file_close(file);
}
