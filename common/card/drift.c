#include "card/drift.h"

#include "model/workload.h"

#include <math.h>
#include <stdio.h>

struct card_probe card_usual(const struct card *card)
{
    const struct local_times *lap = card->ranks > card->cores ? &card->reference.alone : &card->reference.together;
    return (struct card_probe){
        .fetch = lap->fetch, .passes = lap->passes, .update = lap->update, .transfer = card->reference.transfer
    };
}

/* Lower a time to another one; NaN stays. */
static void limit(double *seconds, double most)
{
    if (*seconds > most)
        *seconds = most;
}

struct card_probe card_probe_disturbed(const struct card *card, struct card_probe probe)
{
    const struct card_probe then = card_usual(card);
    limit(&probe.fetch, then.fetch);
    limit(&probe.passes, then.passes);
    limit(&probe.update, then.update);
    limit(&probe.transfer, then.transfer);
    return probe;
}

static double relative_to(double now, double then)
{
    return now > 0 && then > 0 ? now / then : 1;
}

struct card_probe card_predicts(const struct card *card, const struct workload *workload, const struct run *run,
                                double larger_bytes)
{
    const struct local_cost *cost = card->ranks > card->cores ? &card->alone : &card->together;
    const struct work usual = workload_usual(workload, run);
    const double transfer = card_allreduce(card, card->ranks, workload_gradient_bytes(workload));
    return (struct card_probe){ .fetch = cost_at(&cost->fetch, usual),
                                .passes = cost_at(&cost->passes, usual),
                                .update = cost->update,
                                .transfer = isnan(transfer) ? card->reference.transfer : transfer,
                                .alone = local_step(&card->alone, usual),
                                .larger = larger_bytes > 0 ? card_allreduce(card, card->ranks, larger_bytes) : 0,
                                .larger_bytes = larger_bytes };
}

struct card_drift card_drift_of(struct card_probe then, struct card_probe now)
{
    return (struct card_drift){ .local = relative_to(now.fetch + now.passes + now.update,
                                                     then.fetch + then.passes + then.update),
                                .transfer = relative_to(now.transfer, then.transfer),
                                .alone = now.alone > 0 && then.alone > 0 ? now.alone / then.alone : 0,
                                .beyond = now.larger > now.transfer && then.larger > then.transfer
                                              ? (now.larger - now.transfer) / (then.larger - then.transfer)
                                              : 0,
                                .jitter = now.jitter };
}

/* A part of a step, on the card and by a probe, in seconds. */
struct part {
    const char *name;
    double then, now;
};
enum { FETCH, PASSES, UPDATE, SUMS, PARTS };

static void list_parts(const struct card *card, const struct card_probe *probe, struct part part[PARTS])
{
    const struct card_probe then = card_usual(card);
    part[FETCH] = (struct part){ "fetching a batch takes", then.fetch, probe->fetch };
    part[PASSES] = (struct part){ "forward and backward take", then.passes, probe->passes };
    part[UPDATE] = (struct part){ "the update takes", then.update, probe->update };
    part[SUMS] = (struct part){ "an all-reduce of the gradients takes", then.transfer, probe->transfer };
}

/* Return the deviation of a part divided by the allowed one; 0 for a part that the card lacks. */
static double excess_of(const struct part *part, double step)
{
    static const double most = 0.05, small_part = 0.02, of_step = 0.01;
    if (!(part->then > 0))
        return 0;
    const double allowed = part->then < small_part * step ? of_step * step : most * part->then;
    return fabs(part->now - part->then) / allowed;
}

enum card_fit card_fit_of(const struct card *card, const struct card_probe *probe, char why[CARD_NAME])
{
    static const double most = 2;
    struct part part[PARTS];
    list_parts(card, probe, part);
    const double step = part[FETCH].then + part[PASSES].then + part[UPDATE].then + part[SUMS].then;
    double worst = 1;
    enum card_fit fit = CARD_FITS;
    for (int i = 0; i < PARTS; i++) {
        const double excess = excess_of(&part[i], step);
        if (excess <= 1)
            continue;
        const double times = part[i].now / part[i].then;
        const bool scales = times < most && times > 1 / most;
        const enum card_fit of_part = scales ? CARD_SCALES : i == SUMS ? CARD_SUMS_OUTDATED : CARD_OUTDATED;
        fit = of_part > fit ? of_part : fit;
        if (excess <= worst)
            continue;
        worst = excess;
        snprintf(why, CARD_NAME, "%s %.0f %% %s", part[i].name, 100 * fabs(times - 1), times > 1 ? "longer" : "less");
    }
    return fit;
}

static void slow_cost(struct cost *cost, double times)
{
    for (int term = 0; term < COST_TERMS; term++)
        cost->term[term] *= times;
}

/* Factors of a local step's parts. */
struct local_factors {
    double fetch, passes, update;
};

static void slow_local(struct local_cost *cost, struct local_times *usual, struct local_factors times)
{
    slow_cost(&cost->fetch, times.fetch);
    slow_cost(&cost->passes, times.passes);
    cost->update *= times.update;
    usual->fetch *= times.fetch;
    usual->passes *= times.passes;
    usual->forward *= times.passes;
    usual->update *= times.update;
}

static struct card slowed(const struct card *card, struct local_factors alone, struct local_factors together,
                          struct card_drift whole)
{
    const double beyond = whole.beyond > 0 ? whole.beyond : 1;
    struct card c = *card;
    slow_local(&c.alone, &c.reference.alone, alone);
    slow_local(&c.together, &c.reference.together, together);
    c.copy_bandwidth /= whole.local;
    for (int i = 0; i < c.collectives.count; i++)
        alpha_beta_slow(&c.collectives.at[i].cost, whole.transfer, whole.bytes, beyond);
    struct message_cost *messages[] = { &c.p2p.near, &c.p2p.far };
    for (int i = 0; i < 2; i++) {
        alpha_beta_slow(&messages[i]->send, whole.transfer, whole.bytes, beyond);
        alpha_beta_slow(&messages[i]->exchange, whole.transfer, whole.bytes, beyond);
        alpha_beta_slow(&messages[i]->add, whole.local, 0, 1);
        alpha_beta_slow(&messages[i]->add_sent, whole.local, 0, 1);
    }
    c.reference.transfer *= whole.transfer;
    return c;
}

struct card card_drifted(const struct card *card, struct card_drift drift)
{
    const double alone = drift.alone > 0 ? drift.alone : drift.local;
    struct card c = slowed(card, (struct local_factors){ alone, alone, alone },
                           (struct local_factors){ drift.local, drift.local, drift.local }, drift);
    if (drift.jitter > 0)
        c.jitter = drift.jitter;
    own_costs_set(&c.own, &drift.own);
    c.plan = card_of_plan(card);
    return c;
}

struct card card_scaled(const struct card *card, const struct card_probe *probe)
{
    const struct card_probe then = card_usual(card);
    const struct local_factors parts = { relative_to(probe->fetch, then.fetch), relative_to(probe->passes, then.passes),
                                         relative_to(probe->update, then.update) };
    const struct card_drift whole = card_drift_of(then, *probe);
    struct card c = slowed(card, parts, parts, whole);
    own_costs_slow(&c.own, whole.local);
    return c;
}

struct card card_without_sums(const struct card *card, struct card_probe probe)
{
    probe.transfer = 0; /* tells nothing */
    struct card c = card_scaled(card, &probe);
    c.collectives = (struct collective_costs){ 0 };
    c.p2p = (struct p2p_cost){ 0 };
    for (int i = 0; i < c.own.count; i++)
        if (c.own.at[i].kind == OWN_COLLECTIVE)
            c.own.at[i].value = (double)NAN;
    c.reference.transfer = 0;
    return c;
}
