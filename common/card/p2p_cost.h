/* passing: what a message from one rank to another costs, and adding what it brings: of which an all-reduce by hand is made.
 * Part of the machine card, so that such an all-reduce is predicted from what it is made of and not from itself. */
#ifndef LOCKSTEP_PASSING_H
#define LOCKSTEP_PASSING_H

#include "card/alpha_beta.h"

#include <stdbool.h>

struct world;

struct p2p_cost {
    struct alpha_beta send;     /* one way: half a round trip */
    struct alpha_beta exchange; /* both ways at once */
    struct alpha_beta add;      /* that many bytes of floats to as many others, by one rank */
};

/* all: measures messages between the first rank and the last, which on several hosts is on another one, and fits them; on rank 0.
 * Nothing for one rank. Sizes are not those of a lab. */
void p2p_cost_measure(struct p2p_cost *passing, struct world *world);

/* Whether it was measured. */
bool p2p_cost_is_known(const struct p2p_cost *passing);

/* Once points were added by hand or from a file. */
void p2p_cost_fit(struct p2p_cost *passing);

#endif
