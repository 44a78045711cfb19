/* calibrate: measures the machine card before any variant runs. */
#ifndef LOCKSTEP_CALIBRATE_H
#define LOCKSTEP_CALIBRATE_H

#include "card/card.h"

struct world;

/* all: measure for a few seconds; then every rank has the complete card. `largest`: bytes of a message larger than the
 * gradients, 0 for none. This size is held out: it lies between measured sizes. */
void calibrate(struct card *card, struct world *world, const struct workload *workload, const struct run *run,
               double largest);

/* Return the memory estimate of calibrate(), for all ranks together. */
struct memory_estimate calibrate_memory(const struct workload *workload, const struct run *run, double largest);

/* all: measure only the card's all-reduces and messages again. */
void calibrate_links(struct card *card, struct world *world, const struct workload *workload, const struct run *run,
                     double largest);

/* all: compare a few steps with a card measured earlier: of all ranks at once or, with more ranks than cores, of one alone.
 * False if they differ by more than 15 %: the machine or its other load has changed. */
bool calibrate_agrees(const struct card *card, struct world *world, const struct workload *workload,
                      const struct run *run);

#endif
