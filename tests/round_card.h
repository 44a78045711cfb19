/* A machine card of round numbers, for formulas checked by hand. Milliseconds: W = 0.2 fetch + 3 + 0.1 x 128 passes +
 * 4 update = 20, T = 10 at any size, a barrier 0.5, no jitter, no overshoot. */
#ifndef LOCKSTEP_ROUND_CARD_H
#define LOCKSTEP_ROUND_CARD_H

#include "card.h"

static inline struct card round_card(int ranks, int cores)
{
    const struct local_cost cost = { { { 0.2e-3 } }, { { 3e-3, 0.1e-3 } }, 4e-3 };
    struct card card = { .ranks = ranks, .cores = cores, .alone = cost, .together = cost, .copy_bandwidth = 1e30 };
    card.transfer_core = 1;
    card.links = ranks > 1;
    card.link[0] =
        (struct link){ .ranks = ranks, .points = 3, .bytes = { 1e3, 1e6, 1e8 }, .seconds = { 10e-3, 10e-3, 10e-3 } };
    card.link[0].barrier = 0.5e-3;
    link_fit(&card.link[0]);
    return card;
}

#endif
