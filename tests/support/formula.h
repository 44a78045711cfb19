/* formula.h: helpers for tests of the labs' formulas. Include after the lab's header: the helpers use its options and predict(). */
#ifndef LOCKSTEP_FORMULA_H
#define LOCKSTEP_FORMULA_H

#include "card/card.h"
#include "support/unit.h"

#include <math.h>
#include <string.h>

static inline void add_round_cost(struct card *card, enum collective_kind kind, int ranks, double seconds)
{
    struct alpha_beta *cost = &collective_costs_add(&card->collectives, kind, first_ranks(ranks))->cost;
    const double bytes[] = { 1e3, 1e6, 1e8 };
    for (int i = 0; i < 3; i++)
        alpha_beta_add(cost, bytes[i], seconds);
    alpha_beta_fit(cost);
}

/* A machine card of round numbers, for formulas checked by hand. Milliseconds: work W = 0.2 fetch + 3 + 0.1 x 128 passes + 4 update
 * = 20; all-reduce T = 10 at any size among all ranks, 6 among half of them; barrier 0.5; no jitter, no overshoot. */
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

/* Assert that a predicted step takes the milliseconds computed by hand, up to rounding. */
#define assert_ms(prediction, expected)            assert_step_ms(prediction, expected, __FILE__, __LINE__)
#define assert_predicted(settings, card, expected) assert_ms(predict(settings, card), expected)

static inline void assert_step_ms(struct prediction p, double expected, const char *file, int line)
{
    double got = 1e3 * prediction_step(&p);
    if (p.data >= 0 && p.local >= 0 && p.host >= 0 && p.wait >= 0 && p.transfer >= 0 && fabs(got - expected) <= 1e-6)
        return;
    print_error("%.6f ms are predicted, by hand it is %.6f; or a term is negative\n", got, expected);
    _fail(file, line);
}

#endif
