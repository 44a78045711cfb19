/* 04_small_work_formula: what each case of lab 04 must cost, and why.
 *
 *     step = A × (data + f + c × B) + adding + u + T        B samples in each of A micro-batches
 *
 * Only data and c × B depend on the batch. Costs and T are those of the case's n ranks. A sum after each micro-batch pays A × T
 * instead. Adding up gradients costs nothing for a single micro-batch. Letters: notebooks-md/symbols.md.
 *
 * Where ranks take turns, a micro-batch that follows another without a sum finds its rank's data in the caches: f and c are then those of a
 * rank alone. */
#include "04_small_work.h"

struct prediction predict(const struct options *o, const struct card *card)
{
    int ranks = o->run.ranks, micro_batches = o->run.accumulate, sums = o->sums_each ? micro_batches : 1;
    struct local_cost cost = card_local(card, ranks);
    struct work batch = workload_usual(&o->model, &o->run);
    double data = micro_batches * cost_at(&cost.fetch, batch);
    const struct cost next = o->sums_each ? cost.passes : card_passes_again(card, ranks);
    double local = cost_at(&cost.passes, batch) + (micro_batches - 1) * cost_at(&next, batch) + cost.update +
                   adding_seconds(card, workload_gradient_bytes(&o->model), micro_batches);
    struct load load = { .data = data, .local = local, .cpu = data + local, .update = cost.update };
    double transfer = card_allreduce(card, ranks, workload_gradient_bytes(&o->model));
    return predict_alike(card, load, ranks, sums * card_jitter(card, ranks, load.cpu / sums), sums * transfer);
}
