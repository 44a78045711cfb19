/* 09_ddp_inside_formula: what each case of lab 09 must cost, and why.
 *
 *     step = max over ranks of (data + local) + Σ over sums of T(M) - hidden
 *
 * Backward has a layer's gradients after a share of its time: that of the layer's multiplications. A bucket is ready with its last
 * layer. Sums travel one after another, in the order of the buckets:
 *
 *     end of a sum = max(end of the sum before, ready) + T(M)           exposed = end of the last sum - end of backward
 *
 * That is so if a network carries the bytes. If the ranks' cores carry them, they do not compute meanwhile: no sum begins before the end
 * of backward, as far as time is concerned, and nothing is hidden. Backward's later calls carry the sums that are ready before its end,
 * so these lengthen it and count as local.
 *
 *     per_tensor … one_bucket    many buckets are ready early, but each sum costs an α
 *     best_bucket                the cap for which this formula gives the shortest step
 *     wrong_order                the first bucket is ready last: all sums begin at the end of backward
 *     rebuilt                    small_buckets, from the second step on
 *     bf16_wire                  half the bytes; rounding (convert) adds to local
 *     low_rank                   rows + columns of a matrix instead of rows × columns, in two sums: the second after backward
 *
 * Simulated ranks compute in turns on one core, and sums that start give the others their turn: cooler caches add to local (turns).
 *
 * Letters: notebooks-md/symbols.md. */
#include "09_ddp_inside.h"

#include <math.h>
#include <stdlib.h>

/* Floats of a cap, which may be infinite. */
static size_t cap_floats(const struct options *o, double bytes)
{
    return (size_t)fmax(1, fmin(bytes, workload_gradient_bytes(&o->model)) / sizeof(float));
}

struct reducer_settings reducer_of(const struct options *o)
{
    return (struct reducer_settings){ .first = cap_floats(o, o->first),
                                      .most = cap_floats(o, o->most),
                                      .in_model_order = o->in_model_order,
                                      .rebuilds = o->rebuilds,
                                      .wire = o->wire };
}

/* Bytes of a bucket's sum, and of its second one. */
static double wire_bytes(const struct options *o, const struct model_tensor *tensors, const struct bucket *bucket,
                         double *second)
{
    const struct low_rank_floats floats = low_rank_floats(tensors, bucket);
    *second = o->wire == WIRE_LOW_RANK ? (double)(floats.second * sizeof(float)) : 0;
    return o->wire == WIRE_LOW_RANK ? (double)(floats.first * sizeof(float))
                                    : (double)bucket->count * (o->wire == WIRE_BF16 ? 2 : 4);
}

/* Seconds of forward and backward of a rank. */
static double passes_seconds(const struct options *o, const struct card *card)
{
    const struct local_cost cost = card_local(card, o->run.ranks);
    return cost_at(&cost.passes, workload_usual(&o->model, &o->run)) * card_contention_slowdown(card, o->run.ranks);
}

void make_schedule(struct schedule *s, const struct options *o, const struct card *card)
{
    const struct reducer_settings settings = reducer_of(o);
    const struct work work = workload_usual(&o->model, &o->run);
    const int layers = workload_layers(&o->model);
    const double passes = passes_seconds(o, card);
    double left[LAYERS_MOST] = { 0 }; /* from the end of a layer to the end of backward */
    for (int layer = 1; layer < layers; layer++)
        left[layer] = left[layer - 1] + passes * workload_backward_share(&o->model, work, layer - 1);
    *s = (struct schedule){ .backward =
                                left[layers - 1] + passes * workload_backward_share(&o->model, work, layers - 1) };
    s->buckets = buckets_of_model(&o->model, o->in_model_order && !o->rebuilds, settings.first, settings.most);
    struct model_tensor *tensors = memory_new((size_t)workload_tensors(&o->model, NULL), sizeof *tensors);
    workload_tensors(&o->model, tensors);
    double done = 0, ready = 0;
    for (; s->count < s->buckets.count && s->count < BUCKETS_MOST; s->count++) {
        struct sum *sum = &s->sum[s->count];
        double second;
        sum->bucket = &s->buckets.at[s->count];
        sum->bytes = wire_bytes(o, tensors, sum->bucket, &second);
        ready = sum->ready = fmax(ready, s->backward - left[sum->bucket->layer]); /* not before the bucket before */
        sum->seconds = started_seconds(card, o->run.ranks, sum->bytes);
        done = sum->end = fmax(done, s->backward - (s->backward - ready) * (1 - card->transfer_core)) + sum->seconds;
        s->second += second > 0 ? started_seconds(card, o->run.ranks, second) : 0;
        s->second_bytes += second;
    }
    free(tensors);
}

double schedule_seconds(const struct schedule *s)
{
    double seconds = s->second;
    for (int i = 0; i < s->count; i++)
        seconds += s->sum[i].seconds;
    return seconds;
}

/* Seconds of sums that the ranks' cores carry within backward. */
static double schedule_carried(const struct schedule *s, const struct card *card)
{
    double seconds = 0;
    for (int i = 0; i < s->count; i++)
        seconds += s->sum[i].ready < s->backward ? s->sum[i].seconds : 0;
    return card->transfer_core * seconds;
}

double schedule_exposed(const struct schedule *s)
{
    return fmax(0, s->sum[s->count - 1].end - s->backward) + s->second;
}

/* Return the seconds in which a rank's core compresses gradients and expands sums. Low rank reads and writes 52 bytes for each float: the
 * gradient is read four times, written twice; the error read twice, written twice; a part written and read (low_rank.c). */
static double wire_seconds(const struct options *o, const struct card *card)
{
    const double bytes = workload_gradient_bytes(&o->model);
    return o->wire == WIRE_BF16       ? rounding_seconds(card, bytes)
           : o->wire == WIRE_LOW_RANK ? 52 * (bytes / sizeof(float)) / card->copy_bandwidth
                                      : 0;
}

/* Return the share of backward that follows the first start. */
static double share_after_start(const struct schedule *s)
{
    return 1 - s->sum[0].ready / s->backward;
}

/* Return what a simulated rank's caches lose to the others, which compute in turns at each start; 0 on real ranks, and on a modelled
 * machine. The card has it of buckets of DDP_FIRST; if such a bucket holds all gradients, of starts after backward only. */
static double turns_seconds(const struct options *o, const struct schedule *s, const struct card *card)
{
    const double late_s = card_cost(card, STARTED_LATE_COST), early_s = card_cost(card, STARTED_EARLY_COST);
    if (!card_is_measured(card) || (late_s == 0 && early_s == 0))
        return 0;
    struct options on_card = with_cap(o, DDP_FIRST);
    on_card.in_model_order = false;
    struct schedule *measured = memory_new(1, sizeof *measured);
    make_schedule(measured, &on_card, card);
    const double share = share_after_start(measured), more = share > 0 ? share_after_start(s) / share : 0;
    free(measured);
    return late_s + more * (early_s - late_s);
}

/* Exposed seconds of all sums; seconds of sums that the rank's core carries within backward; and what turns cost a simulated rank. */
struct shown {
    double all, carried, turns;
};

static struct shown shown_seconds(const struct options *o, const struct card *card)
{
    if (!o->has_reducer)
        return (struct shown){ .all = card_allreduce(card, o->run.ranks, workload_gradient_bytes(&o->model)) };
    struct schedule *s = memory_new(1, sizeof *s);
    make_schedule(s, o, card);
    const struct shown shown = { schedule_exposed(s), schedule_carried(s, card), turns_seconds(o, s, card) };
    free(s);
    return shown;
}

struct prediction predict_accumulated(const struct options *o, const struct card *card, int micro_batches, int sums)
{
    const int ranks = o->run.ranks;
    const struct work batch = workload_usual(&o->model, &o->run);
    const struct local_cost cost = card_local(card, ranks);
    struct load load = { .data = micro_batches * cost_at(&cost.fetch, batch), .update = cost.update };
    load.local = micro_batches * cost_at(&cost.passes, batch) + cost.update + sums * wire_seconds(o, card) +
                 adding_seconds(card, workload_gradient_bytes(&o->model), micro_batches);
    const struct shown shown = ranks > 1 && sums > 0 ? shown_seconds(o, card) : (struct shown){ 0 };
    load.local += sums * shown.turns;
    load.cpu = load.data + load.local;
    struct prediction p = predict_alike(card, load, ranks, card_jitter(card, ranks, load.cpu), sums * shown.all);
    predict_carried(&p, sums * shown.carried);
    return p;
}

struct prediction predict(const struct options *o, const struct card *card)
{
    return predict_accumulated(o, card, 1, 1);
}

double predict_seconds(const struct options *o, const struct card *card)
{
    const struct prediction prediction = predict(o, card);
    return prediction_step(&prediction);
}

/* --- the best cap ------------------------------------------------------------------------------------------------- */

struct options with_cap(const struct options *o, double cap)
{
    struct options settings = *o;
    settings.has_reducer = true;
    settings.first = settings.most = cap;
    return settings;
}

static bool are_equal(const struct buckets *a, const struct buckets *b)
{
    bool equal = a->count == b->count;
    for (int i = 0; equal && i < a->count; i++)
        equal = a->at[i].begin == b->at[i].begin;
    return equal;
}

/* Return the bytes of the smallest tensor: buckets of that size have one tensor each. */
static double smallest_tensor(const struct options *o)
{
    const int count = workload_tensors(&o->model, NULL);
    struct model_tensor *tensors = memory_new((size_t)count, sizeof *tensors);
    workload_tensors(&o->model, tensors);
    size_t least = tensors[0].count;
    for (int i = 1; i < count; i++)
        least = tensors[i].count < least ? tensors[i].count : least;
    free(tensors);
    return (double)(least * sizeof(float));
}

int list_caps(const struct options *o, double caps[CAPS_MOST])
{
    const double least = smallest_tensor(o), all = workload_gradient_bytes(&o->model);
    struct buckets last = { 0 };
    int count = 0;
    for (int i = (int)floor(2 * log2(least)); i <= (int)ceil(2 * log2(all)); i++) {
        const double cap = fmax(least, fmin(all, exp2(i / 2.0)));
        const struct options settings = with_cap(o, cap);
        const struct reducer_settings of = reducer_of(&settings);
        const struct buckets cut = buckets_of_model(&o->model, false, of.first, of.most);
        if (!are_equal(&cut, &last) && count < CAPS_MOST)
            count++;
        caps[count - 1] = cap; /* of equal cuts the largest cap */
        last = cut;
    }
    return count;
}

double best_cap(const struct options *o, const struct card *card)
{
    double caps[CAPS_MOST], best = 0, least = INFINITY;
    const int count = list_caps(o, caps);
    for (int i = 0; i < count; i++) {
        const struct options settings = with_cap(o, caps[i]);
        const double seconds = predict_seconds(&settings, card);
        if (seconds <= least) {
            best = caps[i];
            least = seconds;
        }
    }
    return best;
}

struct options with_best_pair(const struct options *o, const struct card *card)
{
    const double rounding = 1e-9;
    double caps[CAPS_MOST];
    const int count = list_caps(o, caps);
    struct options best = with_cap(o, best_cap(o, card));
    double least = predict_seconds(&best, card);
    for (int first = 0; first < count; first++)
        for (int most = 0; most < count; most++) {
            struct options settings = with_cap(o, caps[most]);
            settings.first = caps[first];
            const double seconds = predict_seconds(&settings, card);
            if (seconds < (1 - rounding) * least) {
                best = settings;
                least = seconds;
            }
        }
    return best;
}
