/* machine: the lines of the machine card that no training takes part in. */
#ifndef LOCKSTEP_MACHINE_H
#define LOCKSTEP_MACHINE_H

#include "card/card.h"

struct world;

/* What a stamp costs one rank, and how much too long its sleeps last. */
void machine_probes_measure_clock(struct card *card);

/* all of a sub-world, at once, for they share memory and the kernel: what each rank gets in the mean of copying, and of making
 * pages. On rank 0. */
void machine_probes_measure_memory(struct card *card, struct world *world);

/* What that opens, of each rank. */
double machine_probes_bytes(void);

#endif
