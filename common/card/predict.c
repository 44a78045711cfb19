#include "card/predict.h"

#include "base/memory.h"
#include "card/pause.h"

#include <math.h>
#include <stdlib.h>

static double total(const struct load *load)
{
    return load->data + load->local + load->host;
}

static double asleep_of(const struct load *load)
{
    return fmax(0, total(load) - load->cpu); /* the difference of equal times may be a rounding below 0 */
}

/* Return the steps from one collective to the next. */
static int laps_of(const struct load *load)
{
    return load->laps > 1 ? load->laps : 1;
}

/* Return the work after the collective, when all ranks are awake: the update, unless each lap has its own. */
static double after_of(const struct load *load)
{
    return laps_of(load) > 1 ? 0 : load->update;
}

/* State of a rank: asleep until `wakes`, then with `left` seconds of its step's work. */
struct lap {
    int laps_left;
    double wakes, left;
};

static void begin_lap(struct lap *lap, const struct load *load, double now)
{
    lap->laps_left--;
    lap->wakes = now + asleep_of(load);
    lap->left = load->cpu;
}

/* Compute when each rank is done, in seconds per step. Ranks that are awake and not done share `capacity` in equal parts. */
static void share_time(const struct load *loads, int ranks, double capacity, double *done)
{
    struct lap *laps = memory_new((size_t)ranks, sizeof *laps);
    double now = 0;
    for (int rank = 0; rank < ranks; rank++) {
        laps[rank].laps_left = laps_of(&loads[rank]);
        begin_lap(&laps[rank], &loads[rank], now);
    }
    for (;;) {
        int awake = 0;
        double next = INFINITY;
        for (int rank = 0; rank < ranks; rank++)
            awake += laps[rank].left > 0 && laps[rank].wakes <= now;
        double rate = awake > capacity ? capacity / awake : 1;
        for (int rank = 0; rank < ranks; rank++)
            if (laps[rank].left > 0)
                next = fmin(next, laps[rank].wakes <= now ? now + laps[rank].left / rate : laps[rank].wakes);
        if (isinf(next))
            break;
        for (int rank = 0; rank < ranks; rank++) {
            struct lap *lap = &laps[rank];
            if (!(lap->left > 0) || lap->wakes > now)
                continue;
            lap->left -= (next - now) * rate;
            if (lap->left > 1e-12) /* a picosecond: rounding, not work */
                continue;
            lap->left = 0;
            done[rank] = next / laps_of(&loads[rank]);
            if (lap->laps_left > 0)
                begin_lap(lap, &loads[rank], next);
        }
        now = next;
    }
    free(laps);
}

/* Add the terms of ranks that share `capacity`, with weight `share` for each rank. Return the time when the last rank is done. */
static double add_shared(struct prediction *p, const struct load *loads, int ranks, double capacity, double share)
{
    struct load *before = memory_new((size_t)ranks, sizeof *before); /* without the work after the collective */
    double *done = memory_new((size_t)ranks, sizeof *done);
    double last = 0, last_after = 0, slowdown_after = fmax(1, ranks / capacity);
    for (int rank = 0; rank < ranks; rank++) {
        const double after = after_of(&loads[rank]);
        before[rank] = loads[rank];
        before[rank].local -= after;
        before[rank].cpu -= after;
        last_after = fmax(last_after, after * slowdown_after);
    }
    share_time(before, ranks, capacity, done);
    for (int rank = 0; rank < ranks; rank++) {
        const struct load *load = &before[rank];
        double asleep = asleep_of(load), asleep_in_data = fmin(asleep, load->data); /* the rest in `host` */
        double asleep_in_host = fmin(asleep - asleep_in_data, load->host);
        double slowdown = load->cpu > 0 ? (done[rank] - asleep) / load->cpu : 1, after = after_of(&loads[rank]);
        p->data += (asleep_in_data + (load->data - asleep_in_data) * slowdown) * share;
        p->local += (load->local * slowdown + after * slowdown_after) * share;
        p->update += load->update * (after > 0 ? slowdown_after : slowdown) * share;
        p->host += (asleep_in_host + (load->host - asleep_in_host) * slowdown) * share;
        last = fmax(last, fmax(done[rank], asleep));
    }
    free(done);
    free(before);
    return last + last_after;
}

/* Add the terms of ranks that do not slow each other down, as add_shared() does. */
static double add_apart(struct prediction *p, const struct load *loads, int ranks, double share)
{
    double last = 0;
    for (int rank = 0; rank < ranks; rank++) {
        p->data += loads[rank].data * share;
        p->local += loads[rank].local * share;
        p->update += loads[rank].update * share;
        p->host += loads[rank].host * share;
        last = fmax(last, total(&loads[rank]));
    }
    return last;
}

/* Multiply the times that occupy a core by `slowdown`; sleep stays the same. */
static struct load slow_down(struct load load, double slowdown)
{
    double asleep = asleep_of(&load), asleep_in_data = fmin(asleep, load.data);
    load.data += (load.data - asleep_in_data) * (slowdown - 1);
    load.host += (load.host - fmin(asleep - asleep_in_data, load.host)) * (slowdown - 1);
    load.local *= slowdown;
    load.update *= slowdown;
    load.cpu *= slowdown;
    return load;
}

struct load predict_load(const struct card *card, int ranks, struct work batch)
{
    struct local_cost cost = card_local(card, ranks);
    double data = cost_at(&cost.fetch, batch), local = cost_at(&cost.passes, batch) + cost.update;
    return (struct load){ .data = data, .local = local, .cpu = data + local, .update = cost.update };
}

/* Return a load with what its work loses after the pauses of a step, if the last rank needs `last` seconds: it sleeps, and it waits. Add to
 * `sums` what its part of the collective loses. */
static struct load after_pauses(const struct card *card, struct load load, double last, double *sums)
{
    const double asleep = asleep_of(&load) + load.pause, waits = laps_of(&load) * (last - total(&load)),
                 lost = pause_lost(card, asleep) + pause_lost(card, waits) / laps_of(&load);
    *sums += pause_lost_sum(card, asleep + waits) / laps_of(&load);
    load.data -= load.data_is_rest ? fmin(lost, fmin(asleep_of(&load), load.data)) : 0;
    load.local += lost;
    load.cpu += lost;
    return load;
}

/* Write the loads with their losses after pauses. Return the loss of the collective. Ranks that share cores never pause: others work
 * meanwhile. */
static double add_pauses(const struct card *card, const struct load *loads, int ranks, struct load *after)
{
    const bool share_cores = card_is_oversubscribed(card, ranks);
    double last = 0, sums = 0;
    for (int rank = 0; rank < ranks; rank++)
        last = fmax(last, total(&loads[rank]));
    for (int rank = 0; rank < ranks; rank++)
        after[rank] = share_cores ? loads[rank] : after_pauses(card, loads[rank], last, &sums);
    return sums / ranks;
}

struct prediction predict_step(const struct card *card, const struct load *loads, int ranks, double spread,
                               double transfer)
{
    struct load *after = memory_new((size_t)ranks, sizeof *after);
    const double lost = add_pauses(card, loads, ranks, after);
    struct prediction p = { .transfer = transfer };
    p.transfer += transfer > 0 ? lost : 0;
    struct load *on_host = memory_new((size_t)ranks, sizeof *on_host); /* the loads on one host */
    double slowest = 0;
    int hosts = 1;
    for (int host = 0; host < hosts; host++) {
        int count = 0;
        double capacity = 0;
        for (int rank = 0; rank < ranks; rank++) {
            hosts = card_host(card, rank) >= hosts ? card_host(card, rank) + 1 : hosts;
            if (card_host(card, rank) != host)
                continue;
            capacity = card_parallel_capacity(card, rank);
            on_host[count++] = slow_down(after[rank], card_rank_slowdown(card, rank));
        }
        bool is_shared = count > capacity;
        p.is_timeshared |= is_shared;
        slowest = fmax(slowest, is_shared ? add_shared(&p, on_host, count, capacity, 1.0 / ranks)
                                          : add_apart(&p, on_host, count, 1.0 / ranks));
    }
    free(on_host);
    free(after);
    double mean = p.data + p.local + p.host;
    p.wait = fmax(slowest - mean, spread);
    return p;
}

struct prediction predict_alike(const struct card *card, struct load load, int ranks, double spread, double transfer)
{
    struct load *loads = memory_new((size_t)ranks, sizeof *loads);
    for (int rank = 0; rank < ranks; rank++)
        loads[rank] = load;
    struct prediction p = predict_step(card, loads, ranks, spread, transfer);
    free(loads);
    return p;
}

/* Return the samples that a rank finishes within `time`, at least one. */
static double within(double time, double fixed, double per_sample)
{
    return fmax(1, (time - fixed) / fmax(per_sample, 1e-12));
}

/* Return the rank that ends first with `more` samples more; if `more` is not positive, the rank that ends last now. -1 for none. */
static int choose_rank(const double *fixed, const double *per_sample, int ranks, const int *shares, int more)
{
    int chosen = -1;
    double best = INFINITY;
    for (int r = 0; r < ranks; r++) {
        double end = fixed[r] + per_sample[r] * (shares[r] + (more > 0 ? more : 0));
        double cost = more > 0 ? end : -end;
        if ((more > 0 || shares[r] > 1) && cost < best) {
            best = cost;
            chosen = r;
        }
    }
    return chosen;
}

void predict_shares(const double *fixed, const double *per_sample, int ranks, int total, int grain, int *shares)
{
    double least = 0, most = 0;
    for (int r = 0; r < ranks; r++)
        most = fmax(most, fixed[r] + per_sample[r] * total);
    for (int halving = 0; halving < 100; halving++) {
        double time = (least + most) / 2, samples = 0;
        for (int r = 0; r < ranks; r++)
            samples += within(time, fixed[r], per_sample[r]);
        *(samples < total ? &least : &most) = time;
    }
    int assigned = 0;
    for (int r = 0; r < ranks; r++) {
        int share = (int)within(least, fixed[r], per_sample[r]);
        shares[r] = share > grain ? share / grain * grain : share;
        assigned += shares[r];
    }
    /* Give rounding leftovers to the rank that finishes earliest. If the minimum of one sample each has taken too many, take them
     * from the rank that finishes last. */
    while (assigned != total) {
        int more = assigned > total ? -1 : total - assigned >= grain ? grain : 1;
        int chosen = choose_rank(fixed, per_sample, ranks, shares, more);
        if (chosen < 0)
            return; /* fewer samples than ranks: each rank keeps one */
        shares[chosen] += more;
        assigned += more;
    }
}
