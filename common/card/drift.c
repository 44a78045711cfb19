#include "card/drift.h"

#include <math.h>
#include <stdio.h>

struct card_probe card_usual(const struct card *card)
{
    const struct local_times *lap = card->ranks > card->cores ? &card->reference.alone : &card->reference.together;
    return (struct card_probe){ lap->fetch, lap->passes, lap->update, card->reference.transfer };
}

static double relative_to(double now, double then)
{
    return now > 0 && then > 0 ? now / then : 1;
}

struct card_drift card_drift_of(const struct card *card, const struct card_probe *probe)
{
    const struct card_probe then = card_usual(card);
    return (struct card_drift){ .local = relative_to(probe->fetch + probe->passes + probe->update,
                                                     then.fetch + then.passes + then.update),
                                .transfer = relative_to(probe->transfer, then.transfer) };
}

bool card_agrees(const struct card *card, const struct card_probe *probe, char why[CARD_NAME])
{
    static const double most = 0.05, small_part = 0.02, of_step = 0.01;
    const struct card_probe then = card_usual(card);
    const struct {
        const char *name;
        double then, now;
    } parts[] = { { "fetching a batch takes", then.fetch, probe->fetch },
                  { "forward and backward take", then.passes, probe->passes },
                  { "the update takes", then.update, probe->update },
                  { "an all-reduce of the gradients takes", then.transfer, probe->transfer } };
    const double step = then.fetch + then.passes + then.update + then.transfer;
    double worst = 1; /* relative to what is allowed */
    bool agrees = true;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const double allowed = parts[i].then < small_part * step ? of_step * step : most * parts[i].then;
        const double off = parts[i].now - parts[i].then;
        if (!(parts[i].then > 0) || fabs(off) <= worst * allowed)
            continue; /* 0: the card has none */
        worst = fabs(off) / allowed;
        agrees = false;
        snprintf(why, CARD_NAME, "%s %.0f %% %s", parts[i].name, 100 * fabs(off) / parts[i].then,
                 off > 0 ? "longer" : "less");
    }
    return agrees;
}

static void slow_cost(struct cost *cost, double times)
{
    for (int term = 0; term < COST_TERMS; term++)
        cost->term[term] *= times;
}

static void slow_local(struct local_cost *cost, struct local_times *usual, double times)
{
    slow_cost(&cost->fetch, times);
    slow_cost(&cost->passes, times);
    cost->update *= times;
    *usual = (struct local_times){ usual->fetch * times, usual->passes * times, usual->update * times };
}

struct card card_drifted(const struct card *card, struct card_drift drift)
{
    struct card c = *card;
    slow_local(&c.alone, &c.reference.alone, drift.local);
    slow_local(&c.together, &c.reference.together, drift.local);
    c.jitter *= drift.local;
    c.copy_bandwidth /= drift.local;
    c.fresh_bandwidth /= drift.local;
    for (int i = 0; i < c.collectives.count; i++)
        alpha_beta_slow(&c.collectives.at[i].cost, drift.transfer);
    alpha_beta_slow(&c.p2p.send, drift.transfer);
    alpha_beta_slow(&c.p2p.exchange, drift.transfer);
    alpha_beta_slow(&c.p2p.add, drift.local);
    c.reference.transfer *= drift.transfer;
    return c;
}
