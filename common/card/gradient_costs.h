/* gradient_costs: own costs (own_cost.h) of what several labs do to gradients beside the model's passes and its update: adding up
 * micro-batches, rounding to bf16 and back, starting a sum, summing bf16 or a new buffer. A lab that lists the rows has them on its card. A
 * modelled machine, whose hosts do not compute, adds and rounds in no time unless its platform says otherwise. */
#ifndef LOCKSTEP_GRADIENT_COSTS_H
#define LOCKSTEP_GRADIENT_COSTS_H

#include "card/own_cost.h"

struct card;

enum gradient_work { GRADIENT_COPY, GRADIENT_ADD, GRADIENT_ROUND, GRADIENT_ROUND_LARGE };

/* Measure functions of the rows below: seconds per byte of gradients; and seconds of a sum of the size with this index. */
double gradient_measure(const struct own_where *where, int which);
double started_measure(const struct own_where *where, int which);

/* Measure functions: seconds per byte by which ranks together sum a large message slower than as many bytes of kept floats: of bf16; of
 * floats in newly mapped memory. */
double bf16_sum_measure(const struct own_where *where, int which);
double fresh_sum_measure(const struct own_where *where, int which);

/* all of `together`: return the shortest of the ranks' seconds in a collective, which are those of the rank that began last. So no
 * clocks of different hosts are compared. */
double seconds_of_last(struct world *together, double mine);

/* clang-format off */
/* Rows of a lab's table. Memory: three arrays of gradients, or a large message as floats and as bf16; a kept and a new buffer, each half
 * a large message; an array of which parts are summed. A large message is larger than caches: of 260 MiB that 32 MiB fit into, rounding
 * took 130 to 160 us per MB, and of lab 03's message, 128 MiB, 240 us (Intel Xeon, 2 cores of a virtual machine, 2026-11-26). */
#define GRADIENT_BYTES_MOST ((size_t)16 << 20) /* larger gradients are taken to cost as much per byte */
#define LARGE_BYTES ((size_t)128 << 20)
#define STARTED_BYTES ((size_t)24 << 20)
#define STARTED_LARGE_BYTES ((size_t)96 << 20)
#define GRADIENT_ROW(NAME, WHAT, BYTES, WHICH) \
    { NAME, OWN_SECONDS, WHAT, "us", 1e12, BYTES, gradient_measure, WHICH }
#define STARTED_ROW(NAME, WHAT, BYTES, WHICH) { NAME, OWN_SECONDS, WHAT, "ms", 1e3, BYTES, started_measure, WHICH }
#define ADDING_COSTS \
    GRADIENT_ROW("copy_byte_s", "copying 1 MB of gradients takes", 3 * GRADIENT_BYTES_MOST, GRADIENT_COPY), \
    GRADIENT_ROW("add_byte_s",  "adding 1 MB of gradients takes",  3 * GRADIENT_BYTES_MOST, GRADIENT_ADD)
#define ROUNDING_COSTS \
    GRADIENT_ROW("round_byte_s", "rounding 1 MB to bf16 and back", 3 * GRADIENT_BYTES_MOST, GRADIENT_ROUND)
#define ROUNDING_LARGE_COSTS \
    GRADIENT_ROW("round_large_byte_s", "... of a large message", LARGE_BYTES * 3 / 2, GRADIENT_ROUND_LARGE)
#define BF16_SUM_COSTS \
    { "bf16_sum_byte_s", OWN_SECONDS, "sums of bf16 take longer, per MB", "us", 1e12, LARGE_BYTES / 2, bf16_sum_measure, 0 }
#define FRESH_SUM_COSTS \
    { "fresh_sum_byte_s", OWN_SECONDS, "sums of new memory take longer, per MB", "us", 1e12, LARGE_BYTES, fresh_sum_measure, 0 }
#define STARTED_SMALL_COSTS                                           \
    STARTED_ROW("started_4k_s",   "started all-reduce of 4 KiB", STARTED_BYTES, 0), \
    STARTED_ROW("started_96k_s",  "... of 96 KiB",                STARTED_BYTES, 1), \
    STARTED_ROW("started_768k_s", "... of 768 KiB",               STARTED_BYTES, 2)
#define STARTED_MIDDLE_COSTS                                           \
    STARTED_ROW("started_3m_s",   "started all-reduce of 3 MiB", STARTED_BYTES, 3), \
    STARTED_ROW("started_6m_s",   "... of 6 MiB",                 STARTED_BYTES, 4), \
    STARTED_ROW("started_16m_s",  "... of 16 MiB",                STARTED_BYTES, 5)
#define STARTED_LARGE_COSTS                                           \
    STARTED_ROW("started_24m_s",  "... of 24 MiB, of a large message", STARTED_LARGE_BYTES, 6)
/* clang-format on */

/* Return the seconds that a rank takes to add up `micro_batches` gradients of `bytes` each, of which it copies the first; 0 for one. */
double adding_seconds(const struct card *card, double bytes, int micro_batches);

/* Return the seconds of rounding `bytes` of floats to bf16 and back: of gradients, which were just computed; of a large message, which no
 * cache holds. The caller chooses. */
double rounding_seconds(const struct card *card, double bytes);
double rounding_large_seconds(const struct card *card, double bytes);

/* Return the seconds of an all-reduce of `bytes` of bf16 among the first `ranks`: those of as many bytes of floats, and what adding twice
 * as many numbers takes. */
double bf16_sum_seconds(const struct card *card, int ranks, double bytes);

/* Return the seconds by which an all-reduce of `bytes` takes longer in newly mapped memory: a library copies it out of small pages. 0 where
 * that was not measured. */
double fresh_sum_seconds(const struct card *card, int ranks, double bytes);

/* Return the seconds of an all-reduce of `bytes` among the first `ranks` that is started and finished later, from the last rank's start
 * to its end. A library may start another program than its blocking all-reduce: that of Open MPI, for one, takes longer. Between sizes
 * that the card has and beyond them along a line. Those of a blocking one if the card has fewer than two sizes, or if ranks share cores. */
double started_seconds(const struct card *card, int ranks, double bytes);

#endif
