/* 10_memory_formula: what a step of each case of lab 10 must cost, and why. What it must hold: zero_memory(), from shapes.
 *
 *     step = max over ranks of (data + passes + again + (update + file) / parts) + Σ over collectives of T(M)
 *
 *     stage 0     an all-reduce of all gradients
 *     stage 1, 2  for each layer a reduce-scatter in backward, and an all-gather after the update. M is a rank's part. A rank updates its
 *                 part only, so the update takes an n-th of the time.
 *     stage 3     … and instead of the latter an all-gather for each layer in forward and in backward
 *     ahead       a gather that a network carries is hidden by what the layer before does meanwhile. If the ranks' cores carry it, nothing
 *                 is.
 *
 * again: what backward computes a second time, a share of forward. file: moments that are read from a file and written back. Letters:
 * notebooks-md/symbols.md. */
#include "10_memory.h"

#include <math.h>

/* Seconds of both passes of a rank, and of forward alone. */
struct passes {
    double both, forward;
};

/* Seconds of a layer's pass, by its share of the operations. */
static double layer_seconds(const struct options *o, struct passes passes, const struct zero_call *call)
{
    const struct work work = workload_usual(&o->model, &o->run);
    const double share =
        1.5 * workload_backward_share(&o->model, work, call->layer); /* backward has two thirds of all */
    return share * (call->pass == WORK_FORWARD ? passes.forward : passes.both - passes.forward);
}

/* Return the seconds of a collective. Its data was written in this step or the one before, and models of this lab's sizes stay in
 * caches. If all ranks have a core each, it takes as long as that of a block, which the card measures so; a larger layer's in
 * proportion. */
static double call_seconds(const struct options *o, const struct card *card, const struct zero_call *call)
{
    const int ranks = o->run.ranks;
    const double bytes = (double)(call->count * sizeof(float)),
                 block = (double)(workload_layer_parameters(&o->model, 1) * sizeof(float)) / ranks,
                 usual = card_collective(card, call->kind, first_ranks(ranks), bytes),
                 own = card_cost(card, call->kind == REDUCE_SCATTER ? "block_sum_s" : "block_gather_s");
    return own > 0 && card_busy_ranks(card) == ranks ? fmin(usual, own * fmax(1, bytes / block)) : usual;
}

/* Return the seconds in which backward computes blocks, or their attention, again. Without a cost of their own they take as long as in
 * forward. */
static double again_seconds(const struct options *o, const struct card *card, double forward)
{
    const struct recomputing how = o->model.of.transformer.recompute;
    const double share = workload_again_share(&o->model, workload_usual(&o->model, &o->run)),
                 own = card_cost(card, how.attention_only ? "attention_again_s" : "block_again_s");
    struct workload all = o->model;
    all.of.transformer.recompute =
        (struct recomputing){ .every = how.attention_only ? 0 : 1, .attention_only = how.attention_only };
    const double blocks =
        share / workload_again_share(&all, workload_usual(&o->model, &o->run)) * (all.of.transformer.num_blocks - 1);
    return !(share > 0) ? 0 : own > 0 ? blocks * own : share * forward;
}

/* Seconds of all collectives of a step that nothing hides. A gather ahead is hidden by the layer that computes meanwhile, and in
 * backward also by that layer's reduce-scatter, which follows in the list. */
static double transfer_seconds(const struct options *o, const struct card *card, struct passes passes)
{
    struct zero_call *calls = memory_new(ZERO_CALLS_MOST, sizeof *calls);
    const int ranks = o->run.ranks, count = zero_calls(&o->model, o->plan, ranks, calls);
    double seconds = 0;
    for (int i = 0; i < count; i++) {
        const double summing =
            calls[i].pass == WORK_BACKWARD && calls[i].is_ahead ? call_seconds(o, card, &calls[i + 1]) : 0;
        const double hidden =
            calls[i].is_ahead ? (layer_seconds(o, passes, &calls[i]) + summing) * (1 - card->transfer_core) : 0;
        seconds += fmax(0, call_seconds(o, card, &calls[i]) - hidden);
    }
    free(calls);
    return seconds;
}

double moments_bytes(const struct workload *workload)
{
    return 2 * workload_gradient_bytes(workload);
}

/* Return the seconds in which the moments of all parameters are read from a file and written back. Nothing where that was not measured. */
static double file_seconds(const struct options *o, const struct card *card)
{
    const double each = card_cost(card, MOMENTS_FILE_COST);
    return o->plan.offload && each > 0 ? each * moments_bytes(&o->model) / 1e6 : 0;
}

struct prediction predict(const struct options *o, const struct card *card)
{
    const int ranks = o->run.ranks, parts = o->plan.stage > 0 ? ranks : 1;
    const struct work batch = workload_usual(&o->model, &o->run);
    const struct local_cost cost = card_local(card, ranks);
    const double both = cost_at(&cost.passes, batch);
    const struct passes passes = { both, both * cost.forward_share };
    const double leaked = o->leaks ? fresh_seconds(card, leak_bytes(o)) : 0;
    struct load load = { .data = cost_at(&cost.fetch, batch), .update = (cost.update + file_seconds(o, card)) / parts };
    load.local = passes.both + again_seconds(o, card, passes.forward) + load.update + leaked;
    load.cpu = load.data + load.local;
    return predict_alike(card, load, ranks, card_jitter(card, ranks, load.cpu),
                         ranks > 1 ? transfer_seconds(o, card, passes) : 0);
}
