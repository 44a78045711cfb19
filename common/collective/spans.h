/* spans: the one record of what a rank did when. Everything that is shown later is computed from it.
 *
 * A *phase* lasts until the next one begins, so the phases of a step leave no gap. A *collective* is recorded
 * by itself with three stamps and lies inside the phase in which it was waited for:
 *     start    the rank handed its data over
 *     entered  it began to wait for the result (= start for a blocking call)
 *     end      it had the result
 * Recording is a store into memory that was touched beforehand: no I/O, no allocation, no synchronisation. Where the
 * device works later than it is told, what is stored is its note of the moment (device.h). */
#ifndef LOCKSTEP_SPANS_H
#define LOCKSTEP_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clocks;

enum span_kind {
    SPAN_DATA,     /* getting the next batch; a stall before the fetch belongs here */
    SPAN_FORWARD,  /* input to loss */
    SPAN_BACKWARD, /* loss to gradients, and the collectives called meanwhile */
    SPAN_HOST,     /* work of the host that trains nothing */
    SPAN_UPDATE,   /* the optimizer */
    SPAN_PHASES,   /* --- kinds below are collectives --- */
    SPAN_ALL_REDUCE = SPAN_PHASES,
    SPAN_ALL_GATHER, /* ours makes neither this nor the next; the split is the same */
    SPAN_REDUCE_SCATTER,
    SPAN_BARRIER,
    SPAN_KINDS
};

extern const char *const span_names[SPAN_KINDS];

/* The kind of that name; SPAN_KINDS where it is none. */
enum span_kind span_kind_named(const char *name);

struct span {
    double start, entered, end; /* seconds on a host's clock; until spans_resolve() moments of the device */
    size_t bytes;               /* payload of a collective */
    int32_t round, variant, step;
    int32_t sequence; /* the n-th collective of the world; -1 for a phase */
    uint8_t kind;     /* enum span_kind */
    bool progressed;  /* a started collective was given progress calls before it was waited for */
};

struct spans {
    struct span *at;
    int count, capacity;
    int open; /* index of the phase that runs, -1 for none */
    int32_t round, variant, step;
};

void spans_open(struct spans *spans, int capacity);
void spans_close(struct spans *spans);

/* Forgets everything; what is recorded next belongs to this round, variant and step 0. Aligns the device's clock. */
void spans_restart(struct spans *spans, int round, int variant);

/* Ends the running phase and begins the next one, both at `now`. */
void spans_phase(struct spans *spans, enum span_kind kind, double now);

/* Ends the running phase. */
void spans_end(struct spans *spans, double now);

/* Waits for the device and turns all moments into seconds. */
void spans_resolve(struct spans *spans);

/* Turns this host's seconds, all between the two comparisons of its clock, into the first rank's. */
void spans_translate(struct spans *spans, const struct clocks *clocks);

/* A new record of a collective, to be stamped by the caller; NULL when `spans` is NULL. */
struct span *spans_collective(struct spans *spans, enum span_kind kind, int sequence, size_t bytes);

static inline bool span_is_phase(const struct span *span)
{
    return span->kind < SPAN_PHASES;
}

#endif
