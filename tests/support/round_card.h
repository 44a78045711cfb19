/* round_card.h: a machine card of round numbers, for formulas checked by hand. Milliseconds: work W = 0.2 fetch + 3 +
 * 0.1 x 128 passes + 4 update = 20; all-reduce T = 10 at any size among all ranks, 6 among half of them; barrier 0.5;
 * no jitter, no overshoot. */
#ifndef LOCKSTEP_ROUND_CARD_H
#define LOCKSTEP_ROUND_CARD_H

#include "card/card.h"

static inline void add_round_cost(struct card *card, enum collective_kind kind, int ranks, double seconds)
{
    struct alpha_beta *cost = &collective_costs_add(&card->collectives, kind, first_ranks(ranks))->cost;
    const double bytes[] = { 1e3, 1e6, 1e8 };
    for (int i = 0; i < 3; i++)
        alpha_beta_add(cost, bytes[i], seconds);
    alpha_beta_fit(cost);
}

static inline struct card round_card(int ranks, int cores)
{
    const struct local_cost cost = { .fetch = { { 0.2e-3 } }, .passes = { { 3e-3, 0.1e-3 } }, .update = 4e-3 };
    struct card card = { .ranks = ranks, .cores = cores, .alone = cost, .together = cost, .copy_bandwidth = 1e30 };
    card.transfer_core = 1;
    if (ranks > 1) {
        add_round_cost(&card, ALL_REDUCE, ranks, 10e-3);
        add_round_cost(&card, BARRIER, ranks, 0.5e-3);
    }
    if (ranks > 2)
        add_round_cost(&card, ALL_REDUCE, (ranks + 1) / 2, 6e-3);
    return card;
}

#endif
