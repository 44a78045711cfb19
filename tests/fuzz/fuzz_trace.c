/* fuzz_trace.c: read traces as tools/blame does, match the calls, compare the clocks, and split the collectives into wait and transfer.
 * A line of `====` separates the traces of two ranks. */
#include "fuzz.h"
#include "fuzz_timeline.h"

#include "blame/trace_case.h"

#include "base/files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Put bytes into a file in memory; its path is that of its descriptor. */
static void put(int file, const char *bytes, size_t size)
{
    if (ftruncate(file, 0) != 0 || pwrite(file, bytes, size, 0) != (ssize_t)size)
        abort();
}

/* Write each trace into a file of its own. Return their number. */
static int write_traces(const char *path, char names[2][64])
{
    static const char separator[] = "\n====\n";
    static int files[2] = { -1, -1 };
    size_t size;
    char *bytes = file_read(path, &size);
    if (!bytes)
        abort();
    const char *second = memmem(bytes, size, separator, strlen(separator));
    size_t first_size = second ? (size_t)(second - bytes) : size;
    for (int i = 0; i < 2; i++) {
        files[i] = files[i] < 0 ? memfd_create("trace", 0) : files[i];
        snprintf(names[i], 64, "/proc/self/fd/%d", files[i]);
    }
    put(files[0], bytes, first_size);
    if (second)
        put(files[1], second + strlen(separator), size - first_size - strlen(separator));
    free(bytes);
    return second ? 2 : 1;
}

void fuzz_read(const char *path)
{
    static const struct trace_options options = { .is_partial = true, .threads = 1 };
    static const struct spans_wishes wishes = { .skip_first_steps = -1, .clock_error = NAN };
    char names[2][64];
    fuzz_may_contradict = true;
    int count = write_traces(path, names);
    struct spans_file *file = trace_case_open((const char *const[]){ names[0], names[1] }, count, &options, &wishes);
    fuzz_timeline(&file->cases[0].blocks[0].timeline);
    spans_file_close(file);
}
