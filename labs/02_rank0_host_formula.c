/* 02_rank0_host_formula: what each case of lab 02 must cost, and why.
 *
 *     barrier       step = max over ranks of (data + local) + T + max over ranks of host + barrier
 *     no barrier    step = max over ranks of (data + local + host) + T. Rank 0 updates its weights later than the others, so it shares the
 *                   memory with none.
 *
 * Rank 0 works H on the host while the other ranks wait at the barrier (letters: notebooks-md/symbols.md). The fixes:
 *
 *     no barrier        H, without the barrier: the next all-reduce waits instead
 *     every k steps     (H + barrier) / k
 *     beside the step   a sleep shows only where it is longer than the steps until the next one is due. Busy work takes time from
 *                       the rank's core; busy work left after the passes fills a transfer that leaves the core free.
 *     spread            H / n on every rank, side by side
 *
 * If rank 1 sleeps S before each fetch as well, the two delays cost S + H with the barrier: all ranks wait for rank 1 in the
 * all-reduce, then for rank 0 at the barrier. Without it they cost max(S, H): rank 1 sleeps while rank 0 works. */
#include "02_rank0_host.h"

#include <math.h>

double host_seconds(const struct options *o, int rank)
{
    if (o->work == STALL_NONE || (rank > 0 && !o->is_spread))
        return 0;
    return o->host_ms / 1e3 / (o->is_spread ? o->run.ranks : 1);
}

double data_seconds(const struct options *o, int rank)
{
    return o->has_straggler && rank == (o->run.ranks > 1 ? 1 : 0) ? o->host_ms / 1e3 : 0;
}

/* Seconds of a rank's update. Host work without a barrier delays that of rank 0. */
static double update_seconds(const struct options *o, const struct card *card, int rank)
{
    const int ranks = o->run.ranks;
    const double together = card_local(card, ranks).update;
    if (o->has_barrier || o->in_helper || o->is_spread || !(together > 0))
        return together;
    const double apart = card_local(card, rank == 0 ? 1 : ranks - 1).update,
                 share = fmin(1, host_seconds(o, 0) / together) / o->period;
    return together + share * (apart - together);
}

struct prediction predict(const struct options *o, const struct card *card)
{
    int ranks = o->run.ranks, period = o->period;
    struct local_cost cost = card_local(card, ranks);
    struct work batch = workload_usual(&o->model, &o->run);
    double transfer = card_allreduce(card, ranks, workload_gradient_bytes(&o->model));
    double fetch = cost_at(&cost.fetch, batch), passes = cost_at(&cost.passes, batch);
    struct load loads[RANKS_MOST] = { 0 };
    double barrier = o->has_barrier ? card_barrier(card, ranks) : 0;
    double most = 0, sum = 0; /* host work per step during which other ranks wait at the barrier */
    for (int rank = 0; rank < ranks; rank++) {
        const double update = update_seconds(o, card, rank), local = passes + update;
        double host = host_seconds(o, rank);
        host *= o->work == STALL_BUSY && o->has_barrier && !o->in_helper ? card_rank_slowdown(card, rank) : 1;
        host = host > 0 && o->work == STALL_SLEEP ? card_sleep(card, host) : host;
        double late = data_seconds(o, rank) > 0 ? card_sleep(card, data_seconds(o, rank)) : 0;
        loads[rank] = (struct load){ .data = late + fetch, .local = local, .cpu = fetch + local, .update = update };
        if (o->in_helper && o->work == STALL_BUSY && card_helper(card) != HELPER_ON_ITS_OWN) {
            double left = fmax(0, host - barrier - fetch - local);
            double hidden = (1 - card->transfer_core) * (fmin(barrier, host) + fmin(transfer, left));
            loads[rank].local += (host - hidden) / period;
            loads[rank].cpu += (host - hidden) / period;
            host = 0;
        } else if (o->in_helper) {
            /* The sleep may last until the next one is due. */
            double beside = (fetch + local) * card_contention_slowdown(card, ranks) + transfer;
            host = fmax(0, host - barrier - period * beside);
        } else if (!o->has_barrier) { /* delays the next all-reduce */
            loads[rank].host = host / period;
            loads[rank].cpu += o->work == STALL_BUSY && !card_is_fed_by_memory(card) ? host / period : 0;
            host = 0;
        }
        most = fmax(most, host / period);
        sum += host / period;
    }
    for (int rank = 0; rank < ranks; rank++)
        loads[rank].pause = most;
    struct prediction prediction =
        predict_step(card, loads, ranks, card_jitter(card, ranks, fetch + passes + cost.update), transfer);
    if (o->in_helper && o->work == STALL_BUSY && card_helper(card) == HELPER_SOMEWHERE)
        prediction.data = (double)NAN; /* the helper's core is unknown, so the step is, too */
    prediction.host += sum / ranks;
    prediction.wait += most - sum / ranks;
    prediction.transfer += barrier / period;
    return prediction;
}
