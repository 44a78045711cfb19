#include "card/drift.h"

#include "model/workload.h"

#include <math.h>
#include <stdio.h>

struct card_probe card_usual(const struct card *card)
{
    const bool is_alone = card->ranks > card->cores;
    struct card_probe usual = { .local = is_alone ? card->reference.alone : card->reference.together,
                                .alone = card->reference.alone,
                                .transfer = card->reference.transfer };
    usual.local.fixed = (is_alone ? card->alone : card->together).passes.term[COST_FIXED];
    return usual;
}

/* Lower a time to another one; NaN stays. */
static void limit(double *seconds, double most)
{
    if (*seconds > most)
        *seconds = most;
}

static void limit_local(struct local_times *times, struct local_times most)
{
    limit(&times->fetch, most.fetch);
    limit(&times->passes, most.passes);
    limit(&times->update, most.update);
    times->fixed = 0; /* not told */
}

struct card_probe card_probe_disturbed(const struct card *card, struct card_probe probe)
{
    const struct card_probe then = card_usual(card);
    limit_local(&probe.local, then.local);
    limit_local(&probe.alone, then.alone);
    limit(&probe.transfer, then.transfer);
    return probe;
}

static double relative_to(double now, double then)
{
    return now > 0 && then > 0 ? now / then : 1;
}

static struct local_times times_at(const struct local_cost *cost, struct work work)
{
    return (struct local_times){ .fetch = cost_at(&cost->fetch, work),
                                 .passes = cost_at(&cost->passes, work),
                                 .fixed = cost->passes.term[COST_FIXED],
                                 .update = cost->update };
}

struct card_probe card_predicts(const struct card *card, const struct workload *workload, const struct run *run,
                                double larger_bytes)
{
    const struct local_cost *cost = card->ranks > card->cores ? &card->alone : &card->together;
    const struct work usual = workload_usual(workload, run);
    const double transfer = card_allreduce(card, card->ranks, workload_gradient_bytes(workload));
    return (struct card_probe){ .local = times_at(cost, usual),
                                .alone = times_at(&card->alone, usual),
                                .transfer = isnan(transfer) ? card->reference.transfer : transfer,
                                .larger = larger_bytes > 0 ? card_allreduce(card, card->ranks, larger_bytes) : 0,
                                .larger_bytes = larger_bytes };
}

static struct parts_drift parts_of(struct local_times then, struct local_times now)
{
    struct parts_drift parts = { .passes = relative_to(now.fetch + now.passes, then.fetch + then.passes),
                                 .update = relative_to(now.update, then.update) };
    const double growing = then.fetch + then.passes - then.fixed;
    if (fabs(now.fixed) > 0 && growing > 0) {
        parts.growing = growing;
        parts.more =
            fmin(growing / 2, fmax(-then.fixed / 2, now.fixed / parts.passes - then.fixed)); /* the rest is noise */
    }
    return parts;
}

/* Likewise with a factor for passes that the fetch is not part of. */
static struct parts_drift passes_of(struct local_times then, struct local_times now)
{
    then.fetch = now.fetch = 0;
    return parts_of(then, now);
}

struct card_drift card_drift_of(struct card_probe then, struct card_probe now)
{
    const bool has_alone = now.alone.passes > 0 && then.alone.passes > 0,
               has_larger = now.larger > now.transfer && then.larger > then.transfer;
    return (struct card_drift){ .local = relative_to(lap_seconds(now.local), lap_seconds(then.local)),
                                .transfer = relative_to(now.transfer, then.transfer),
                                .together = parts_of(then.local, now.local),
                                .alone = has_alone ? parts_of(then.alone, now.alone) : (struct parts_drift){ 0 },
                                .beyond = has_larger ? (now.larger - now.transfer) / (then.larger - then.transfer) : 0,
                                .jitter = now.jitter };
}

/* A part of a step, on the card and by a probe, in seconds. */
struct part {
    const char *name;
    double then, now;
};
enum { FETCH, PASSES, UPDATE, ALONE_PASSES, ALONE_UPDATE, SUMS, PARTS };

static void list_parts(const struct card *card, const struct card_probe *probe, struct part part[PARTS])
{
    const struct card_probe then = card_usual(card);
    part[FETCH] = (struct part){ "fetching a batch takes", then.local.fetch, probe->local.fetch };
    part[PASSES] = (struct part){ "forward and backward take", then.local.passes, probe->local.passes };
    part[UPDATE] = (struct part){ "the update takes", then.local.update, probe->local.update };
    if (probe->alone.passes > 0) {
        part[ALONE_PASSES] =
            (struct part){ "forward and backward of a rank alone take", then.alone.passes, probe->alone.passes };
        part[ALONE_UPDATE] =
            (struct part){ "the update of a rank alone takes", then.alone.update, probe->alone.update };
    }
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
    struct part part[PARTS] = { 0 };
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

static double or_else(double factor, double none)
{
    return factor > 0 ? factor : none;
}

static void slow_local(struct local_cost *cost, struct local_times *usual, struct parts_drift drift, double fetch)
{
    const double fixed = drift.passes * (cost->passes.term[COST_FIXED] + drift.more);
    slow_cost(&cost->fetch, fetch);
    slow_cost(&cost->passes, parts_growing(drift));
    cost->passes.term[COST_FIXED] = fixed;
    cost->update *= drift.update;
    usual->fetch *= fetch;
    usual->passes *= drift.passes;
    usual->forward *= drift.passes;
    usual->update *= drift.update;
}

/* Return the drift of a rank alone that ranks together tell: sums change their fixed part, and not its. */
static struct parts_drift alone_by(struct parts_drift together)
{
    return (struct parts_drift){ .passes = parts_growing(together), .update = together.update };
}

/* Return a card scaled to a drift. `fetch`: factor of the fetch; 0: of what grows with the batch. */
static struct card slowed(const struct card *card, struct card_drift drift, double fetch)
{
    struct parts_drift together = drift.together;
    together.passes = or_else(together.passes, drift.local);
    together.update = or_else(together.update, drift.local);
    const struct parts_drift alone = drift.alone.passes > 0 ? drift.alone : alone_by(together);
    const double beyond = or_else(drift.beyond, 1);
    struct card c = *card;
    slow_local(&c.alone, &c.reference.alone, alone, or_else(fetch, parts_growing(alone)));
    slow_local(&c.together, &c.reference.together, together, or_else(fetch, parts_growing(together)));
    c.copy_bandwidth /= drift.local;
    for (int i = 0; i < c.collectives.count; i++)
        alpha_beta_slow(&c.collectives.at[i].cost, drift.transfer, drift.bytes, beyond);
    struct message_cost *messages[] = { &c.p2p.near, &c.p2p.far };
    for (int i = 0; i < 2; i++) {
        alpha_beta_slow(&messages[i]->send, drift.transfer, drift.bytes, beyond);
        alpha_beta_slow(&messages[i]->exchange, drift.transfer, drift.bytes, beyond);
        alpha_beta_slow(&messages[i]->add, drift.local, 0, 1);
        alpha_beta_slow(&messages[i]->add_sent, drift.local, 0, 1);
    }
    c.reference.transfer *= drift.transfer;
    own_costs_follow(&c.own, &drift.own, (struct own_pace){ drift.local, drift.transfer });
    return c;
}

struct card card_drifted(const struct card *card, struct card_drift drift)
{
    struct card c = slowed(card, drift, 0);
    if (drift.jitter > 0)
        c.jitter = drift.jitter;
    c.plan = card_of_plan(card);
    return c;
}

struct card card_scaled(const struct card *card, const struct card_probe *probe)
{
    const struct card_probe then = card_usual(card);
    struct card_drift drift = card_drift_of(then, *probe);
    drift.together = passes_of(then.local, probe->local);
    if (drift.alone.passes > 0)
        drift.alone = passes_of(then.alone, probe->alone);
    return slowed(card, drift, relative_to(probe->local.fetch, then.local.fetch));
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
