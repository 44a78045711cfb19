#include "trace_json.h"

#include "base/memory.h"
#include "trace_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Parse the file block by block. */
static enum trace_end parse(struct trace_events *events, gzFile file, char **why)
{
    enum { BLOCK = 1 << 16 };
    unsigned char *block = memory_new(BLOCK, 1);
    size_t byte = 0;
    int got;
    while (!*why && (got = gzread(file, block, BLOCK)) > 0) {
        *why = trace_events_parse(events, block, (size_t)got, byte);
        byte += (size_t)got;
    }
    free(block);
    if (*why)
        return TRACE_REFUSED;
    int error = Z_OK;
    const char *said = gzerror(file, &error);
    if (error != Z_OK && error != Z_BUF_ERROR) {
        *why = memory_text("after %zu bytes: %s; copy the file again", byte, error == Z_ERRNO ? strerror(errno) : said);
        return TRACE_REFUSED;
    }
    if (byte == 0) {
        *why = memory_text("is empty; record the trace again");
        return TRACE_REFUSED;
    }
    if (error == Z_BUF_ERROR || !trace_events_are_complete(events)) {
        *why = memory_text("is cut short after %zu bytes", byte);
        return TRACE_CUT;
    }
    if (!trace_events_are_there(events)) {
        *why = memory_text("has no \"traceEvents\"; name a file that torch.profiler's export_chrome_trace() wrote");
        return TRACE_REFUSED;
    }
    return TRACE_WHOLE;
}

enum trace_end trace_json_read(const char *path, void (*take)(void *to, const struct trace_event *event), void *to,
                               struct trace_head *head, char **why)
{
    *head = (struct trace_head){ .rank = -1, .world_size = -1, .base = -1 };
    *why = NULL;
    errno = 0;
    gzFile file = gzopen(path, "rb");
    if (!file) {
        *why = memory_text("cannot be read: %s; name an existing trace", strerror(errno));
        return TRACE_REFUSED;
    }
    gzbuffer(file, 1 << 17);
    struct trace_events *events = trace_events_open(take, to, head);
    enum trace_end end = parse(events, file, why);
    trace_events_close(events);
    gzclose(file);
    return end;
}
