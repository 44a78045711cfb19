/* gradient_costs: own costs (own_cost.h) of what several labs do to gradients beside the model's passes and its update: adding up
 * micro-batches, rounding to bf16 and back, starting a sum. A lab that lists the rows has them on its card. A modelled machine, whose
 * hosts do not compute, adds and rounds in no time unless its platform says otherwise. */
#ifndef LOCKSTEP_GRADIENT_COSTS_H
#define LOCKSTEP_GRADIENT_COSTS_H

#include "card/own_cost.h"

struct card;

enum gradient_work { GRADIENT_ADD, GRADIENT_ROUND, GRADIENT_ROUND_LARGE };

/* Measure functions of the rows below: seconds per byte of gradients; and seconds of a sum of the size with this index. */
double gradient_measure(const struct own_where *where, int which);
double started_measure(const struct own_where *where, int which);

/* clang-format off */
/* Rows of a lab's table. Memory: three arrays of gradients, or a large message as floats and as bf16; an array of which parts are summed. */
#define GRADIENT_BYTES_MOST ((size_t)16 << 20) /* of larger gradients each byte takes as long as of these */
#define LARGE_BYTES ((size_t)32 << 20)
#define STARTED_BYTES ((size_t)24 << 20)
#define GRADIENT_ROW(NAME, WHAT, WHICH) \
    { NAME, OWN_SECONDS, WHAT, "us", 1e12, 48 << 20, gradient_measure, WHICH }
#define STARTED_ROW(NAME, WHAT, WHICH) { NAME, OWN_SECONDS, WHAT, "ms", 1e3, STARTED_BYTES, started_measure, WHICH }
#define ADDING_COSTS GRADIENT_ROW("add_byte_s", "adding 1 MB of gradients takes", GRADIENT_ADD)
#define ROUNDING_COSTS GRADIENT_ROW("round_byte_s", "rounding 1 MB to bf16 and back", GRADIENT_ROUND)
#define ROUNDING_LARGE_COSTS GRADIENT_ROW("round_large_byte_s", "... of a large message", GRADIENT_ROUND_LARGE)
#define STARTED_SMALL_COSTS                                           \
    STARTED_ROW("started_4k_s",   "started all-reduce of 4 KiB", 0), \
    STARTED_ROW("started_96k_s",  "... of 96 KiB",                1), \
    STARTED_ROW("started_768k_s", "... of 768 KiB",               2)
#define STARTED_LARGE_COSTS                                           \
    STARTED_ROW("started_3m_s",   "started all-reduce of 3 MiB", 3), \
    STARTED_ROW("started_6m_s",   "... of 6 MiB",                 4), \
    STARTED_ROW("started_24m_s",  "... of 24 MiB",                5)
/* clang-format on */

/* Return the seconds that a rank takes to add up `micro_batches` gradients of `bytes` each; 0 for one. */
double adding_seconds(const struct card *card, double bytes, int micro_batches);

/* Return the seconds of rounding `bytes` of floats to bf16 and back, just computed or from beyond the caches. */
double rounding_seconds(const struct card *card, double bytes);
double rounding_large_seconds(const struct card *card, double bytes);

/* Return the seconds of an all-reduce of `bytes` among the first `ranks` that is started and finished later, from the last rank's start
 * to its end. A library may start another program than its blocking all-reduce: that of Open MPI, for one, takes longer. Between sizes
 * that the card has and beyond them along a line. Those of a blocking one if the card has fewer than two sizes, or if ranks share cores. */
double started_seconds(const struct card *card, int ranks, double bytes);

#endif
