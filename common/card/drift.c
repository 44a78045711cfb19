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
                                .alone = { .fetch = cost_at(&card->alone.fetch, usual),
                                           .passes = cost_at(&card->alone.passes, usual),
                                           .update = card->alone.update },
                                .larger = larger_bytes > 0 ? card_allreduce(card, card->ranks, larger_bytes) : 0,
                                .larger_bytes = larger_bytes };
}

static struct parts_drift parts_of(struct local_times then, struct local_times now)
{
    return (struct parts_drift){ relative_to(now.fetch + now.passes, then.fetch + then.passes),
                                 relative_to(now.update, then.update) };
}

static struct local_times local_of(const struct card_probe *probe)
{
    return (struct local_times){ .fetch = probe->fetch, .passes = probe->passes, .update = probe->update };
}

struct card_drift card_drift_of(struct card_probe then, struct card_probe now)
{
    const struct local_times local_then = local_of(&then), local_now = local_of(&now);
    const bool has_alone = now.alone.passes > 0 && then.alone.passes > 0,
               has_larger = now.larger > now.transfer && then.larger > then.transfer;
    return (struct card_drift){ .local = relative_to(lap_seconds(local_now), lap_seconds(local_then)),
                                .transfer = relative_to(now.transfer, then.transfer),
                                .together = parts_of(local_then, local_now),
                                .alone = has_alone ? parts_of(then.alone, now.alone) : (struct parts_drift){ 0 },
                                .beyond = has_larger ? (now.larger - now.transfer) / (then.larger - then.transfer) : 0,
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

static double or_else(double factor, double none)
{
    return factor > 0 ? factor : none;
}

static struct card slowed(const struct card *card, struct local_factors alone, struct local_factors together,
                          struct card_drift whole)
{
    const double beyond = or_else(whole.beyond, 1);
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
    const double passes = or_else(drift.together.passes, drift.local),
                 update = or_else(drift.together.update, drift.local),
                 passes_alone = or_else(drift.alone.passes, passes), update_alone = or_else(drift.alone.update, update);
    struct card c = slowed(card, (struct local_factors){ passes_alone, passes_alone, update_alone },
                           (struct local_factors){ passes, passes, update }, drift);
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
