/* calibrate: fills the machine card, before any variant runs. */
#ifndef LOCKSTEP_CALIBRATE_H
#define LOCKSTEP_CALIBRATE_H

#include "card/card.h"

struct world;

/* all: measures for a few seconds; the card is complete on every rank. `largest`: bytes of a message that is larger than
 * the gradients; it is held out between two sizes that are measured. 0 for none. */
void calibrate(struct card *card, struct world *world, const struct workload *workload, const struct run *run,
               double largest);

/* What it opens for that, on all ranks together. */
struct memory_estimate calibrate_memory(const struct workload *workload, const struct run *run, double largest);

/* all: its all-reduces and messages alone, anew. */
void calibrate_links(struct card *card, struct world *world, const struct workload *workload, const struct run *run,
                     double largest);

/* all: a few steps against a card measured earlier: of all ranks at once, or, with more ranks than cores, of one alone.
 * False when they differ by more than 15 %: the machine, or its other users, are not what they were. */
bool calibrate_agrees(const struct card *card, struct world *world, const struct workload *workload,
                      const struct run *run);

#endif
