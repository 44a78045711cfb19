/* p2p_cost: cost of a point-to-point message and of adding the received floats, the two parts of an all-reduce by hand. It
 * belongs to the machine card, so that such an all-reduce is predicted from its parts and not from itself. */
#ifndef LOCKSTEP_P2P_COST_H
#define LOCKSTEP_P2P_COST_H

#include "card/alpha_beta.h"

#include <stdbool.h>

struct world;

struct message_cost {
    struct alpha_beta send;     /* one way: half a round trip */
    struct alpha_beta exchange; /* both ways at once */
    struct alpha_beta add;      /* one rank adds that many bytes of floats, just received, to as many others, */
    struct alpha_beta add_sent; /* … to those that it has just sent: another core has read them */
};

struct p2p_cost {
    struct message_cost near; /* of arrays that were just used, so they are in caches, as far as these reach */
    struct message_cost far;  /* of arrays that no cache holds, like gradients after backward has computed others */
};

/* all: measure messages between the first rank and the last, and fit them; results are on rank 0. With several hosts the last
 * rank is on another host. Does nothing for one rank. Sizes differ from those of the labs. */
void p2p_cost_measure(struct p2p_cost *cost, struct world *world);

/* Return the bytes that measuring takes on all `ranks` ranks together. */
double p2p_cost_bytes(int ranks);

/* True if all costs have points. */
bool p2p_cost_is_known(const struct p2p_cost *cost);

/* Fit the costs, after points were added by hand or from a file. */
void p2p_cost_fit(struct p2p_cost *cost);

#endif
