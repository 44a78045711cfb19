/* machine_probes: measures the numbers of the machine card that need no training. */
#ifndef LOCKSTEP_MACHINE_PROBES_H
#define LOCKSTEP_MACHINE_PROBES_H

#include "card/card.h"

struct world;

/* Measure the cost of a stamp on one rank, and the excess of its sleeps. */
void machine_probes_measure_clock(struct card *card);

/* all of a sub-world, at once, because the ranks share memory: measure the mean rank's bandwidth of copying. The result is on rank 0. */
void machine_probes_measure_memory(struct card *card, struct world *world);

/* Return the bytes that machine_probes_measure_memory() takes on each rank. */
double machine_probes_bytes(void);

#endif
