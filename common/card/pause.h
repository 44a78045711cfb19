/* pause: a step after a pause takes longer. While the ranks sleep or wait, other programs and other guests of this machine's host fill the
 * caches that cores share, and the step reads parameters, gradients and moments from memory again. Code that reads no large
 * arrays loses nothing, and a rank that waits loses as much as one that sleeps.
 *
 * Measured on two cores of an Intel Xeon (2026-11-28): after 5, 20 and 40 ms, products with 12 MiB of parameters lost 0.5 to 1.0, 0.7 to
 * 3.1 and 1.4 to 3.5 ms, all of it when they were first read. */
#ifndef LOCKSTEP_PAUSE_H
#define LOCKSTEP_PAUSE_H

#include "card/own_cost.h"

struct card;

/* Measure function of the rows below, on ranks that pause together. Return the extra seconds of a local step after a short pause, of one
 * after a long pause, or of an all-reduce of the gradients after a long pause (0 for one rank). 0 for simulated ranks, which pause in
 * virtual time. */
enum pause_cost { PAUSE_SHORT, PAUSE_LONG, PAUSE_SUM };
double pause_measure(const struct own_where *where, int which);

/* clang-format off */
/* Rows of the table of a lab whose ranks pause. */
#define PAUSE_COSTS                                                                                                   \
    { "pause_5ms_s",  OWN_SECONDS, "after 5 ms of pause a step loses", "ms", 1e3, 0, pause_measure, PAUSE_SHORT },      \
    { "pause_30ms_s", OWN_SECONDS, "... after 30 ms",                  "ms", 1e3, 0, pause_measure, PAUSE_LONG },      \
    { "pause_sum_s",  OWN_SECONDS, "... and its all-reduce",           "ms", 1e3, 1 << 20, pause_measure, PAUSE_SUM }
/* clang-format on */

/* These rows, for a lab that has no other costs of its own. */
extern const struct own_cost pause_costs[];

/* Return the seconds that a local step, and its all-reduce, takes longer after a pause of `seconds`. 0 if the card lacks the rows. */
double pause_lost(const struct card *card, double seconds);
double pause_lost_sum(const struct card *card, double seconds);

#endif
