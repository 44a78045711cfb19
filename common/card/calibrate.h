/* calibrate: measures the machine card before any variant runs. */
#ifndef LOCKSTEP_CALIBRATE_H
#define LOCKSTEP_CALIBRATE_H

#include "card/drift.h"

struct world;

/* all: measure for a few seconds; then every rank has the card, with the collectives, messages and own costs of `uses`. Return the failed
 * checks of all ranks on rank 0. */
struct check_failures calibrate(struct card *card, struct world *world, const struct workload *workload,
                                const struct run *run, const struct card_uses *uses);

/* Return the memory estimate of calibrate(), for all ranks together. */
struct memory_estimate calibrate_memory(const struct workload *workload, const struct run *run,
                                        const struct card_uses *uses);

/* all: add the collectives, messages and own costs of `uses` that the card, which all ranks have, lacks. Return the failed checks
 * likewise. */
struct check_failures calibrate_uses(struct card *card, struct world *world, const struct workload *workload,
                                     const struct run *run, const struct card_uses *uses);

/* all: compare a probe with a card measured earlier, and scale the card to the probe if that suffices (card_fit_of()). Or leave out its
 * collectives if they alone changed too much; calibrate_uses() measures them again. What took longer because other programs had a core
 * does not count: a new card would be no better, and takes longer beside them. Unless the card fits, `why` names the part furthest off. */
enum card_fit calibrate_again(struct card *card, struct world *world, const struct workload *workload,
                              const struct run *run, char why[CARD_NAME]);

#endif
