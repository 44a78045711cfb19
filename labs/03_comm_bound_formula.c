/* 03_comm_bound_formula: what each case of lab 03 must cost, and why.
 *
 *     step = max over ranks of (data + local + host) + sum over messages of (α + β × M) - hidden
 *
 *     comm_ws4                  T(G) + T(M); host = fill: the M bytes of a new buffer / the rate of first writes. Cores that sum it look up
 *                               its small pages, which adds to T(M).
 *     comm_kept_ws4             T(G) + T(M): one more message
 *     comm_buckets, own ones    an α per bucket. A network that needs no core carries them while backward goes on; ranks that
 *                               must move the bytes themselves begin at the end.
 *     comm_bf16                 T(G / 2) + T(M / 2); rounding (convert) adds to local
 *     comm_every_k              T(G) + T(M) / k
 *
 * A message leaves its bytes in the caches: what real ranks compute after it takes longer (flushed), which adds to local.
 *
 * Letters: notebooks-md/symbols.md. */
#include "03_comm_bound.h"

#include <math.h>

/* Sums that are started during backward, in their order: each is ready `before` the end of backward and takes `seconds`. */
struct starts {
    int count;
    double before[COLLECTIVE_STARTED_MOST], seconds[COLLECTIVE_STARTED_MOST];
    bool is_early[COLLECTIVE_STARTED_MOST]; /* ready before the last layer */
};

static struct starts starts_of(const struct options *o, const struct card *card, double passes)
{
    const struct buckets cuts[] = { cut_message(o), cut_own(o) };
    double left[LAYERS_MOST] = { 0 }; /* from the end of a layer to the end of backward */
    struct starts starts = { 0 };
    passes *= card_contention_slowdown(card, o->run.ranks);
    const struct work work = workload_usual(&o->model, &o->run);
    for (int layer = 1; layer < workload_layers(&o->model); layer++)
        left[layer] = left[layer - 1] + passes * workload_backward_share(&o->model, work, layer - 1);
    for (int cut = 0; cut < 2; cut++)
        for (int i = 0; i < cuts[cut].count; i++, starts.count++) {
            const struct bucket *bucket = &cuts[cut].at[i];
            starts.is_early[starts.count] = left[bucket->layer] > 0;
            starts.before[starts.count] = left[bucket->layer] * (1 - card->transfer_core);
            starts.seconds[starts.count] = started_seconds(card, o->run.ranks, (double)bucket->count * sizeof(float));
        }
    return starts;
}

double exposed_seconds(const struct options *o, const struct card *card, double passes)
{
    const struct starts starts = starts_of(o, card, passes);
    return predict_exposed(starts.before, starts.seconds, starts.count);
}

/* Return the seconds of sums that the ranks' cores carry within backward, in its later calls to the library: sums ready before its end. */
static double carried_seconds(const struct options *o, const struct card *card, double passes)
{
    const struct starts starts = starts_of(o, card, passes);
    double seconds = 0;
    for (int i = 0; i < starts.count; i++)
        seconds += starts.is_early[i] ? starts.seconds[i] : 0;
    return o->calls_library ? card->transfer_core * seconds : 0;
}

/* Return the seconds of summing `bytes` of floats. */
static double sum_seconds(const struct options *o, const struct card *card, double bytes)
{
    return o->wire == TYPE_BF16 ? bf16_sum_seconds(card, o->run.ranks, bytes / 2)
                                : card_allreduce(card, o->run.ranks, bytes);
}

static double predict_transfer(const struct options *o, const struct card *card, double passes)
{
    double seconds = exposed_seconds(o, card, passes);
    if (!o->gradient_buckets)
        seconds += sum_seconds(o, card, workload_gradient_bytes(&o->model));
    if (o->has_message && !o->overlaps)
        seconds += sum_seconds(o, card, (double)MIB * o->comm_mb) / o->run.cycle;
    if (o->is_fresh)
        seconds += fresh_sum_seconds(card, o->run.ranks, (double)MIB * o->comm_mb);
    return seconds;
}

/* Seconds of rounding to bf16 and back. */
static double convert_seconds(const struct options *o, const struct card *card)
{
    if (o->wire != TYPE_BF16)
        return 0;
    const double message = o->has_message ? (double)MIB * o->comm_mb : 0;
    return rounding_seconds(card, workload_gradient_bytes(&o->model)) + rounding_large_seconds(card, message);
}

/* Return what a step loses because a message has filled the caches, in its mean over a cycle. */
static double flushed_seconds(const struct options *o, const struct card *card)
{
    const double message = (double)MIB * o->comm_mb;
    return o->has_message && card_is_measured(card)
               ? fmin(1, message / FLUSHING_BYTES) * card_cost(card, FLUSHED_COST) / o->run.cycle
               : 0;
}

struct prediction predict(const struct options *o, const struct card *card)
{
    int ranks = o->run.ranks;
    struct local_cost cost = card_local(card, ranks);
    struct work batch = workload_usual(&o->model, &o->run);
    double passes = cost_at(&cost.passes, batch);
    struct load load = { .data = cost_at(&cost.fetch, batch),
                         .local = passes + cost.update + convert_seconds(o, card) + flushed_seconds(o, card),
                         .host = o->is_fresh ? fresh_seconds(card, (double)MIB * o->comm_mb) : 0 };
    load.cpu = load.data + load.local + load.host;
    load.update = cost.update;
    struct prediction p =
        predict_alike(card, load, ranks, card_jitter(card, ranks, load.cpu), predict_transfer(o, card, passes));
    predict_carried(&p, carried_seconds(o, card, passes));
    return p;
}
