/* hand_spans.h: spans written by hand, for tests of what is computed from them. Times are in seconds. */
#ifndef LOCKSTEP_HAND_SPANS_H
#define LOCKSTEP_HAND_SPANS_H

#include "collective/span.h"

static inline struct span phase(enum span_kind kind, int step, double start, double end)
{
    return (struct span){
        .kind = (uint8_t)kind, .step = step, .start = start, .entered = start, .end = end, .sequence = -1
    };
}

/* A collective of 8 bytes among all ranks. */
static inline struct span collective_span(enum span_kind kind, int step, int sequence, double start, double entered,
                                          double end)
{
    return (struct span){ .kind = (uint8_t)kind,
                          .step = step,
                          .sequence = sequence,
                          .start = start,
                          .entered = entered,
                          .end = end,
                          .bytes = 8 };
}

#endif
