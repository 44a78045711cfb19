/* 08_token_loader_formula: what each case of lab 08 must cost, and why.
 *
 *     step = max over ranks of (data + local) + T
 *     data = S + copy, if the rank fetches its own batch
 *     data = handoff + max(0, S + copy - local - T), if a helper fetches the next one beside the step (prefetch)
 *
 * S is the delay of slow storage (--disk-ms). The copy is `ask`, for being asked, and the sum of what a way does; M: bytes of the batch
 * in the shard:
 *
 *     elements       3 × allocation + read(M) + tokens × one by one
 *     blocks         3 × allocation + read(M) + tokens × widen
 *     mapped         2 × allocation + mapping + tokens × widen
 *     preallocated   mapping + tokens × widen
 *     advised        mapping + tokens × widen
 *     windowed       mapping + unmapping + tokens × widen
 *     buffered       read(M) by fread() + tokens × loop
 *     views          mapping
 *
 * read(M) is a call and M bytes that the kernel copies from the page cache. Widening reads from the cache if the tokens were just read,
 * else from memory. `mapped` are the bytes that the kernel maps for a batch. It maps 16 pages at a fault (or what its fault_around_bytes
 * says; more where the page cache has larger pieces, which is not known here), and SOURCE_ADVICE bytes when told to. Those are the tokens
 * of several batches, of this rank and others, and the first ones are mapped before the measured steps. So they are counted step by step.
 * If ranks fault on the same pages at the same time, the kernel lets one of them map a part only; it faults again, which is not predicted.
 *
 * A helper's copy needs a core. If that is the rank's own, it lengthens the local term instead (as in lab 01). But where cores are real, a
 * helper that is woken runs at once, until it waits for storage. So without slow storage its copy is in the data term there, as if the rank
 * had made it: waking a helper took 8 us, and 28 if it then computed for 20 (Intel Xeon, 2026-11-30). */
#include "08_token_loader.h"

#include <math.h>

/* True if the kernel is told to map the shard, in the order in which it is read. */
static bool is_advised(enum source_way way, enum row_shuffle shuffle)
{
    return shuffle == SHUFFLE_NONE &&
           (way == SOURCE_ADVISED || way == SOURCE_PREFETCHED || way == SOURCE_WINDOWED || way == SOURCE_VIEWS);
}

/* Return the seconds in which a way maps bytes and, if it unmaps, unmaps as many behind them. */
static double mapping_seconds(const struct token_parts *parts, enum source_way way, enum row_shuffle shuffle,
                              double bytes)
{
    const double map = parts->of[is_advised(way, shuffle) ? PART_POPULATE_BYTE : PART_FAULT_BYTE],
                 unmap = way == SOURCE_WINDOWED ? parts->of[PART_UNMAP_BYTE] : 0;
    return bytes * (map + unmap);
}

/* Return the bytes that are mapped for a batch, in the mean over the steps of a window. They are mapped in blocks of `at_once`, where this
 * rank touches the first of their bytes. A shuffled row is taken to be far from those before. All ranks are taken to reach a block in the
 * same step, which is not so where it begins among the batches of a step. */
static double mapped_bytes(const struct window_order *order, int token_bytes, uint64_t at_once, struct window steps)
{
    const uint64_t bytes = window_order_tokens(order) * (uint64_t)token_bytes;
    if (order->shuffle != SHUFFLE_NONE)
        return (double)(window_order_count(order) * (bytes + at_once));
    uint64_t mapped = 0, blocks = 0; /* those before this one are mapped; those that were mapped in these steps */
    for (uint64_t step = 0; step < (uint64_t)(steps.warmup + steps.measured); step++) {
        const uint64_t byte = step * order->ranks * bytes, end = (byte + bytes - 1) / at_once + 1,
                       begin = byte / at_once > mapped ? byte / at_once : mapped;
        blocks += step >= (uint64_t)steps.warmup && end > begin ? end - begin : 0;
        mapped = end;
    }
    return (double)(blocks * at_once) / steps.measured;
}

/* Return the seconds in which a way loads a batch, from pages that are cached; without slow storage and a helper's thread. `mapping`: to
 * map its pages, for ways that map the shards. */
static double way_seconds(const struct token_parts *parts, enum source_way way, double tokens, int token_bytes,
                          double mapping)
{
    const double bytes = tokens * token_bytes, *part = parts->of;
    const double read = part[PART_READ_CALL] + bytes * part[PART_READ_BYTE], fread_more = part[PART_FREAD_MORE],
                 allocation = part[PART_ALLOCATION], element = tokens * part[PART_ELEMENT],
                 widen = tokens * part[PART_WIDEN], mapped_widen = tokens * part[PART_MAPPED_WIDEN];
    const double ask = part[PART_ASK];
    switch (way) {
    case SOURCE_ELEMENTS:
        return ask + 3 * allocation + read + element;
    case SOURCE_BLOCKS:
        return ask + 3 * allocation + read + widen;
    case SOURCE_MAPPED:
        return ask + 2 * allocation + mapping + mapped_widen;
    case SOURCE_PREALLOCATED:
    case SOURCE_ADVISED:
    case SOURCE_PREFETCHED:
    case SOURCE_WINDOWED:
        return ask + mapping + mapped_widen;
    case SOURCE_BUFFERED:
        return ask + read + fread_more + tokens * part[PART_LOOP];
    case SOURCE_VIEWS:
        return ask + mapping;
    case SOURCE_WAYS:
        break;
    }
    return (double)NAN;
}

double alone_seconds(const struct token_parts *parts, const struct source_settings *s, enum page_state pages)
{
    const double tokens = (double)(s->order.rows * s->order.length);
    const bool is_mapped = pages == PAGES_WARM && s->way != SOURCE_WINDOWED; /* before, and still */
    const double mapping = mapping_seconds(parts, s->way, s->order.shuffle, is_mapped ? 0 : tokens * s->set->width),
                 seconds = way_seconds(parts, s->way, tokens, s->set->width, mapping);
    return seconds + (s->way == SOURCE_PREFETCHED ? parts->of[PART_HANDOFF] : 0);
}

/* Return the seconds of a batch in a training step. Views of shuffled rows are copies. */
static double copy_seconds(const struct options *o, const struct token_parts *parts)
{
    const struct window_order order = order_of(o, &(struct shard_set){ 0 });
    const enum source_way way =
        o->way == SOURCE_VIEWS && order.shuffle != SHUFFLE_NONE ? SOURCE_ADVISED : (enum source_way)o->way;
    const uint64_t at_once = is_advised(way, order.shuffle) ? SOURCE_ADVICE : FAULT_AROUND;
    const double mapped = mapped_bytes(&order, o->token_bytes, at_once, run_window(&o->run));
    return way_seconds(parts, way, batch_tokens(o), o->token_bytes, mapping_seconds(parts, way, order.shuffle, mapped));
}

static struct load load_of(const struct options *o, const struct card *card, double transfer)
{
    const int ranks = o->run.ranks;
    const struct local_cost cost = card_local(card, ranks);
    const struct token_parts parts = parts_on(card);
    const double local = cost_at(&cost.passes, workload_usual(&o->model, &o->run)) + cost.update,
                 copy = copy_seconds(o, &parts), fetch = copy + (o->is_slow ? card_sleep(card, o->disk_ms / 1e3) : 0),
                 handoff = o->way == SOURCE_PREFETCHED ? parts.of[PART_HANDOFF] : 0;
    const double on_core = card_helper(card) == HELPER_ON_ITS_OWN ? 0 : copy;
    const bool runs_at_once = on_core > 0 && !o->is_slow && !world_is_simulated();
    struct load load = {
        .data = handoff + fetch, .local = local, .cpu = local + copy + handoff, .update = cost.update
    };
    if (o->way != SOURCE_PREFETCHED || runs_at_once)
        return load;
    const double left = fmax(0, on_core - (local - cost.update));
    load.local = local + on_core - (1 - card->transfer_core) * fmin(left, transfer);
    load.data = handoff + fmax(0, fetch - load.local * card_contention_slowdown(card, ranks) - transfer - handoff);
    load.cpu = load.local + handoff;
    load.data_is_rest = true;
    return load;
}

struct prediction predict(const struct options *o, const struct card *card)
{
    const int ranks = o->run.ranks;
    const double transfer = card_allreduce(card, ranks, workload_gradient_bytes(&o->model));
    const struct load load = load_of(o, card, transfer);
    return predict_alike(card, load, ranks, card_jitter(card, ranks, load.cpu), transfer);
}
