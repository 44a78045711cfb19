/* passing: what a message from one rank to another costs, and adding what it brings: of which an all-reduce by hand is made.
 * Part of the machine card, so that such an all-reduce is predicted from what it is made of and not from itself. */
#ifndef LOCKSTEP_PASSING_H
#define LOCKSTEP_PASSING_H

#include "link.h"

#include <stdbool.h>

struct world;

struct passing {
    struct link send;     /* one way: half a round trip */
    struct link exchange; /* both ways at once */
    struct link add;      /* that many bytes of floats to as many others, by one rank */
};

/* all: measures messages between the first rank and the last, which on several hosts is on another one, and fits them; on rank 0.
 * Nothing for one rank. Sizes are not those of a lab. */
void passing_measure(struct passing *passing, struct world *world);

/* Whether it was measured. */
bool passing_is_known(const struct passing *passing);

/* Once points were added by hand or from a file. */
void passing_fit(struct passing *passing);

#endif
