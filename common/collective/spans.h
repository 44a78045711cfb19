/* spans: the only record of a rank's phases and collectives. Everything shown later is computed from it.
 *
 * Recording is a store into memory that was touched beforehand: no I/O, no allocation, no synchronisation. On a GPU the stored
 * value is an event (device.h) instead of a time. */
#ifndef LOCKSTEP_SPANS_H
#define LOCKSTEP_SPANS_H

#include "collective/span.h"

struct clocks;
struct collective_call;

struct spans {
    struct span *at;
    int count, capacity;
    int open; /* index of the running phase, -1 for none */
    int32_t round, variant, step;
};

void spans_open(struct spans *spans, int capacity);
void spans_close(struct spans *spans);

/* Forget all spans and begin the device's clock sync. The next spans belong to this round, this variant and step 0. */
void spans_restart(struct spans *spans, int round, int variant);

/* End the running phase and begin the next one, both at `now`. */
void spans_phase(struct spans *spans, enum span_kind kind, double now);

/* End the running phase. */
void spans_end(struct spans *spans, double now);

/* Wait for the device and convert all events to seconds. */
void spans_resolve(struct spans *spans);

/* Convert this host's seconds to rank 0's. All spans must lie between the two comparisons of the clocks. */
void spans_translate(struct spans *spans, const struct clocks *clocks);

/* Append a record of a collective without to and from, which the caller stamps; NULL if `spans` is NULL. */
struct span *spans_collective(struct spans *spans, const struct collective_call *call);

#endif
