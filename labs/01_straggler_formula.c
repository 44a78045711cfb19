/* 01_straggler_formula: what each case of lab 01 must cost, and why.
 *
 *     step = max over ranks of (data + local) + T
 *
 * A stall S before the fetch lengthens the data term of one rank, a slow core its local term: r times the passes. The letters are
 * those of notebooks-md/symbols.md. The fixes:
 *
 *     prefetch         a sleep runs beside the step: max(data + S, local + T). Busy work needs the core of the passes.
 *     smaller share    shares such that all ranks end together; a rank that is late even with one sample keeps one
 *     every k steps    T / k, and S in every step. If the stall roams, S × hits / k: of the k stalls between two sums,
 *                      hits = predict_fullest(k, n) delay the rank that is delayed most often, on average.
 *
 * By chance p each: S in a share 1 - (1 - p)^n of the steps. */
#include "01_straggler.h"

#include <math.h>

static double stall_seconds(const struct options *o, const struct card *card)
{
    double seconds = o->stall == STALL_NONE ? 0 : o->sleep_ms / 1e3;
    return o->stall == STALL_SLEEP ? card_sleep(card, seconds) : seconds;
}

/* Cost of a rank's step apart from its samples, and per sample. Shares and prediction are computed from it. */
struct rank_cost {
    double fetch, stall, fixed, per_sample, update; /* `fixed` includes the update */
};

static struct rank_cost rank_cost_of(const struct options *o, const struct card *card, int rank)
{
    struct local_cost cost = card_local(card, o->run.ranks);
    /* Of equal shares the other ranks finish theirs first, and wait while the slow rank goes on. */
    const struct cost again = o->shares ? card_passes_again(card, o->run.ranks) : card->alone.passes;
    const int more = rank == o->slow_rank ? o->passes - 1 : 0; /* passes */
    const struct work one = workload_work(&o->model, 1);
    bool is_late = rank == o->slow_rank && !o->roams;
    return (struct rank_cost){ .fetch = cost_at(&cost.fetch, workload_usual(&o->model, &o->run)),
                               .stall = is_late ? stall_seconds(o, card) : 0,
                               .fixed = cost.passes.term[COST_FIXED] + more * again.term[COST_FIXED] + cost.update,
                               .per_sample =
                                   cost_beyond_fixed(&cost.passes, one) + more * cost_beyond_fixed(&again, one),
                               .update = cost.update };
}

void deal(const struct options *o, const struct card *card, int *samples)
{
    int ranks = o->run.ranks;
    double fixed[RANKS_MOST], per_sample[RANKS_MOST];
    for (int rank = 0; rank < ranks; rank++) {
        struct rank_cost rank_cost = rank_cost_of(o, card, rank);
        double times = card_rank_slowdown(card, rank);
        fixed[rank] =
            rank_cost.stall * (o->stall == STALL_BUSY ? times : 1) + times * (rank_cost.fetch + rank_cost.fixed);
        per_sample[rank] = times * rank_cost.per_sample;
        samples[rank] = o->run.batch_size;
    }
    int grain = o->run.batch_size % 4 ? 1 : 4; /* matrix kernels work in fours; other sizes cost more per sample */
    if (o->shares)
        predict_shares(fixed, per_sample, ranks, ranks * o->run.batch_size, grain, samples);
}

/* Work of a rank per step. With prefetch, copying and a busy stall move to the async helper, which shares this core unless it has
 * its own. A sleep then runs beside the step and shows only where it is longer: max(stall, local + transfer), not their sum. The
 * helper and the passes take equal turns on the core. Helper work left after them fills a transfer that leaves the core free.
 * `laps`: steps from one sum to the next. */
static struct load load_of(const struct options *o, const struct card *card, int rank, int samples, double transfer)
{
    struct rank_cost rank_cost = rank_cost_of(o, card, rank);
    double averaging = 2 * workload_gradient_bytes(&o->model) / card->copy_bandwidth; /* of parameters, every k steps */
    double local = rank_cost.fixed + rank_cost.per_sample * samples;
    local += o->run.cycle > 1 ? averaging / o->run.cycle : 0;
    double all = rank_cost.fetch + rank_cost.stall, on_core = rank_cost.fetch;
    if (o->stall == STALL_BUSY && !card_is_fed_by_memory(card))
        on_core = all;
    if (o->run.ahead && card_helper(card) == HELPER_ON_ITS_OWN)
        on_core = 0;
    struct load load = {
        .data = all, .local = local, .cpu = local + on_core, .update = rank_cost.update, .laps = o->run.cycle
    };
    if (o->run.ahead) {
        double left = fmax(0, on_core - (local - rank_cost.update));
        load.local = local + on_core - (1 - card->transfer_core) * fmin(left, transfer);
        load.data_is_rest = true;
        load.data =
            on_core < all ? fmax(0, all - load.local * card_contention_slowdown(card, o->run.ranks) - transfer) : 0;
    }
    return load;
}

/* Seconds by which a roaming stall delays the rank that it hits. With prefetch, only its excess over the rest of the step shows.
 * While one rank waits, the other ranks' next fetches already run, so the next stall is hidden if it hits another rank. A step
 * with visible excess is followed by one without with probability 1 - 1/n; the reverse is certain. */
static double roaming_excess(const struct options *o, const struct card *card, const struct load *load, double transfer)
{
    double stall = o->roams ? stall_seconds(o, card) : 0;
    if (!o->run.ahead)
        return stall;
    double fetch = rank_cost_of(o, card, 0).fetch;
    double beside = load->local * card_contention_slowdown(card, o->run.ranks) + transfer;
    return fmax(0, stall + fetch - beside) / (2 - 1.0 / o->run.ranks);
}

struct prediction predict(const struct options *o, const struct card *card)
{
    int ranks = o->run.ranks, k = o->run.cycle, samples[RANKS_MOST] = { 0 };
    double transfer = card_allreduce(card, ranks, workload_gradient_bytes(&o->model));
    struct load loads[RANKS_MOST] = { 0 };
    deal(o, card_of_plan(card), samples);
    for (int rank = 0; rank < ranks; rank++)
        loads[rank] = load_of(o, card, rank, samples[rank], transfer);
    double jitter = card_jitter(card, ranks, rank_cost_of(o, card, 0).fetch + loads[0].local) / sqrt(k);
    struct prediction spared = predict_step(card, loads, ranks, jitter, transfer / k);
    double any = o->chances ? predict_any(o->chance, ranks) : o->roams; /* share of steps hit at random, not spared */
    if (o->stall == STALL_BUSY && o->run.ahead && card_helper(card) == HELPER_SOMEWHERE)
        spared.data = (double)NAN; /* the helper's core is unknown, so the step is, too */
    if (any == 0)
        return spared;
    /* Give the first rank the most stalls, by symmetry. Of k roaming stalls, the rank hit most often has predict_fullest(k, ranks);
     * the other ranks share the rest. Of stalls by chance, one makes the step late and any others run beside the first. */
    double roaming = roaming_excess(o, card, &loads[0], transfer);
    double all = o->chances ? ranks * o->chance / any : 1, most = o->chances ? 1 : predict_fullest(k, ranks) / k;
    for (int rank = 0; rank < ranks; rank++)
        loads[rank].data += roaming * (rank == 0 ? most : (all - most) / (ranks - 1));
    struct prediction hit = predict_step(card, loads, ranks, jitter, transfer / k);
    return predict_mixed(&spared, &hit, any);
}
