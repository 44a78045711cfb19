#include "collective/spans.h"

#include "base/die.h"
#include "base/hot.h"
#include "base/memory.h"
#include "device/device.h"
#include "launch/collective_call.h"
#include "world/clocks.h"

#include <stdlib.h>
#include <string.h>

void spans_open(struct spans *spans, int capacity)
{
    *spans = (struct spans){ .at = memory_new_array(MEMORY_MEASURING, (size_t)capacity, sizeof *spans->at),
                             .capacity = capacity,
                             .open = -1 };
    device_reserve_events(3 * (size_t)capacity); /* start, entered and end */
}

void spans_close(struct spans *spans)
{
    memory_free_array(spans->at);
    *spans = (struct spans){ 0 };
}

void spans_restart(struct spans *spans, int round, int variant)
{
    spans->count = 0;
    spans->open = -1;
    spans->round = round;
    spans->variant = variant;
    spans->step = 0;
    device_clock_sync_begin();
}

HOT static struct span *append(struct spans *spans, enum span_kind kind)
{
    if (spans->count == spans->capacity)
        die(STATUS_WRONG, "more than %d spans in one block; use fewer --steps", spans->capacity);
    struct span *span = &spans->at[spans->count++];
    *span = (struct span){
        .kind = (uint8_t)kind,
        .round = spans->round,
        .variant = spans->variant,
        .step = spans->step,
        .sequence = -1,
        .to = -1,
        .from = -1,
    };
    return span;
}

HOT void spans_end(struct spans *spans, double now)
{
    if (spans->open >= 0)
        spans->at[spans->open].end = now;
    spans->open = -1;
}

HOT void spans_phase(struct spans *spans, enum span_kind kind, double now)
{
    spans_end(spans, now);
    struct span *span = append(spans, kind);
    span->start = span->entered = now;
    spans->open = spans->count - 1;
}

void spans_resolve(struct spans *spans)
{
    device_clock_sync_end();
    for (int i = 0; i < spans->count; i++) {
        struct span *span = &spans->at[i];
        span->start = device_event_seconds(span->start);
        span->entered = device_event_seconds(span->entered);
        span->end = device_event_seconds(span->end);
    }
}

void spans_translate(struct spans *spans, const struct clocks *clocks)
{
    for (int i = 0; i < spans->count; i++) {
        struct span *span = &spans->at[i];
        span->start = clocks_first(clocks, span->start);
        span->entered = clocks_first(clocks, span->entered);
        span->end = clocks_first(clocks, span->end);
    }
}

_Static_assert(SPAN_BARRIER == SPAN_PHASES + (int)BARRIER && SPAN_KINDS == SPAN_PHASES + (int)COLLECTIVE_KINDS,
               "kinds of spans and collectives have one order");

HOT struct span *spans_collective(struct spans *spans, const struct collective_call *call)
{
    if (!spans)
        return NULL;
    struct span *span = append(spans, (enum span_kind)(SPAN_PHASES + (int)call->kind));
    span->sequence = call->sequence;
    span->group = (int16_t)call->group;
    span->bytes = call->bytes;
    return span;
}
