/* spans: the only record of a rank's phases and collectives. Everything shown later is computed from it.
 *
 * A *phase* lasts until the next one begins, so the phases of a step leave no gap. A *collective* is a record of its own with
 * three stamps. It lies inside the phase in which the rank waited for it:
 *     start    the rank handed its data over
 *     entered  the rank began to wait for the result (= start for a blocking call)
 *     end      the rank had the result
 * Recording is a store into memory that was touched beforehand: no I/O, no allocation, no synchronisation. On a GPU the stored
 * value is an event (device.h) instead of a time. */
#ifndef LOCKSTEP_SPANS_H
#define LOCKSTEP_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clocks;
struct collective_call;

enum span_kind {
    SPAN_DATA,     /* getting the next batch, with any stall before the fetch */
    SPAN_FORWARD,  /* input to loss */
    SPAN_BACKWARD, /* loss to gradients, with the collectives called meanwhile */
    SPAN_HOST,     /* host work that is not training */
    SPAN_UPDATE,   /* the optimizer */
    SPAN_OTHER,    /* of another program's job: work that its trace does not name; sums count it as host */
    SPAN_PHASES,   /* --- kinds below are collectives, in the order of enum collective_kind --- */
    SPAN_ALL_REDUCE = SPAN_PHASES,
    SPAN_ALL_GATHER,
    SPAN_REDUCE_SCATTER,
    SPAN_BROADCAST,
    SPAN_SEND_RECEIVE,
    SPAN_BARRIER,
    SPAN_KINDS
};

extern const char *const span_names[SPAN_KINDS];

/* Return the kind with this name; SPAN_KINDS if there is none. */
enum span_kind span_kind_named(const char *name);

struct span {
    double start, entered, end; /* seconds on a host's clock; device events until spans_resolve() */
    size_t bytes;               /* of a collective: of the larger buffer of this rank */
    int32_t round, variant, step;
    int32_t sequence; /* the n-th collective of its group; -1 for a phase */
    int16_t group;    /* group of ranks; 0: all ranks of the block */
    int16_t to, from; /* ranks of the block: `to` of a message; `from` of a message or broadcast; -1: none */
    uint8_t kind;     /* enum span_kind */
    bool progressed;  /* a started collective got progress calls before the wait */
};

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

static inline bool span_is_phase(const struct span *span)
{
    return span->kind < SPAN_PHASES;
}

/* True for a collective in which a rank waits for certain ranks, by `to` and `from`, instead of all ranks of its group. */
static inline bool span_has_peers(const struct span *span)
{
    return span->kind == SPAN_BROADCAST || span->kind == SPAN_SEND_RECEIVE;
}

/* Bytes that one of n ranks sends and receives in a collective: the least of any algorithm. A ring reaches the first three
 * (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009). Ranks that forward a
 * broadcast send more.
 *
 *     all-reduce                    2 (n - 1) / n x bytes each way
 *     all-gather, reduce-scatter    (n - 1) / n x bytes each way
 *     barrier                       0
 *     broadcast                     the root sends bytes, each other rank receives bytes
 *     send-receive                  bytes to rank `to` and from rank `from`, if there is one: exact
 *
 * `bytes`, `to` and `from` are those of the rank's span. */
struct collective_traffic {
    double sent, received;
};
struct collective_traffic collective_traffic(enum span_kind kind, int ranks, size_t bytes, int to, int from);

#endif
