/* frequency: a core that has just multiplied matrices runs at a lower clock frequency. Products use the widest vector instructions, which
 * take more power, so the processor lowers the core's frequency, and raises it again some milliseconds after the last of them (Intel calls
 * it a licence). What a step computes after its model's products therefore takes longer than by itself.
 *
 * Measured on an Intel Xeon with AVX-512 (2 cores of a virtual machine, 2026-11-28): after 0.1 ms of products, the same loop took 1.15
 * times as long for 4 ms, then 1.07 times for another 4 ms. */
#ifndef LOCKSTEP_FREQUENCY_H
#define LOCKSTEP_FREQUENCY_H

#include "card/own_cost.h"

struct card;

/* Measure function of the rows below: how many times as long a loop takes right after products, and the seconds that it has lost when the
 * frequency is back. 1 and 0 on a GPU, which computes products and the rest alike. */
enum frequency_cost { FREQUENCY_RATIO, FREQUENCY_LOST };
double frequency_measure(const struct own_where *where, int which);

/* clang-format off */
/* Rows of a lab's table. */
#define FREQUENCY_COSTS                                                                                                     \
    { "slowed_ratio",  OWN_STAYS, "after products a loop takes",   "times as long", 1, 1e6, frequency_measure, FREQUENCY_RATIO }, \
    { "slowed_lost_s", OWN_STAYS, "... until it has lost", "ms", 1e3, 1e6, frequency_measure, FREQUENCY_LOST }
/* clang-format on */

/* Return the seconds that loops of vectors lose right after products, if they take `seconds` at full frequency. 0 if the card lacks the
 * rows. */
double frequency_lost(const struct card *card, double seconds);

/* Matrices to multiply, as the model of a step does. */
struct products;
struct products *products_open(void);
void products_run(const struct products *products, double seconds);
void products_close(struct products *products);

/* Compute without products until the core has its full frequency again. */
void frequency_recover(void);

#endif
