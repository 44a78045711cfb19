#include "collective/span.h"

#include <string.h>

const char *const span_names[SPAN_KINDS] = {
    [SPAN_DATA] = "data",
    [SPAN_FORWARD] = "forward",
    [SPAN_BACKWARD] = "backward",
    [SPAN_HOST] = "host",
    [SPAN_UPDATE] = "update",
    [SPAN_OTHER] = "other",
    [SPAN_ALL_REDUCE] = "all_reduce",
    [SPAN_ALL_GATHER] = "all_gather",
    [SPAN_REDUCE_SCATTER] = "reduce_scatter",
    [SPAN_BROADCAST] = "broadcast",
    [SPAN_SEND_RECEIVE] = "send_receive",
    [SPAN_BARRIER] = "barrier",
};

enum span_kind span_kind_named(const char *name)
{
    int kind = 0;
    while (kind < SPAN_KINDS && strcmp(span_names[kind], name) != 0)
        kind++;
    return (enum span_kind)kind;
}

struct collective_traffic collective_traffic(enum span_kind kind, int ranks, size_t bytes, int to, int from)
{
    const double all = (double)bytes, others = (ranks - 1) * all / ranks;
    switch (kind) {
    case SPAN_ALL_REDUCE:
        return (struct collective_traffic){ 2 * others, 2 * others };
    case SPAN_ALL_GATHER:
    case SPAN_REDUCE_SCATTER:
        return (struct collective_traffic){ others, others };
    case SPAN_BROADCAST:
        return (struct collective_traffic){ ranks > 1 && from < 0 ? all : 0, from >= 0 ? all : 0 };
    case SPAN_SEND_RECEIVE:
        return (struct collective_traffic){ to >= 0 ? all : 0, from >= 0 ? all : 0 };
    default:
        return (struct collective_traffic){ 0, 0 };
    }
}
