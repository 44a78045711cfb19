/* span: a phase or a collective of one rank.
 *
 * A *phase* lasts until the next one begins, so the phases of a step leave no gap. A *collective* is a record of its own with
 * three stamps. It lies inside the phase in which the rank waited for it:
 *     start    the rank handed its data over
 *     entered  the rank began to wait for the result (= start for a blocking call)
 *     end      the rank had the result */
#ifndef LOCKSTEP_SPAN_H
#define LOCKSTEP_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum span_kind {
    SPAN_DATA,     /* getting the next batch, with any stall before the fetch */
    SPAN_FORWARD,  /* input to loss */
    SPAN_BACKWARD, /* loss to gradients, with the collectives called meanwhile */
    SPAN_HOST,     /* host work that is not training */
    SPAN_UPDATE,   /* the optimizer */
    SPAN_OTHER,    /* only of traces of other programs: work without a name; sums count it as host */
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
    bool progressed;  /* a started collective got progress calls before the wait, or nothing ran in between */
};

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
