/* @NAME@_formula: what each case of lab @NN@ must cost, and why.
 *
 *     step = max over ranks of (data + local) + T
 *
 * The stall lengthens the data term of one rank, and all ranks wait for it in the all-reduce: S, or S / k if it comes in every k-th
 * step (letters: notebooks-md/symbols.md). */
#include "@NAME@.h"

struct prediction predict(const struct options *o, const struct card *card)
{
    int ranks = o->run.ranks;
    struct load loads[RANKS_MOST] = { 0 };
    for (int rank = 0; rank < ranks; rank++)
        loads[rank] = predict_load(card, ranks, workload_usual(&o->model, &o->run));
    double jitter = card_jitter(card, ranks, loads[0].cpu);
    if (o->every > 0)
        loads[0].data += card_sleep(card, o->stall_ms / 1e3) / o->every;
    double transfer = card_allreduce(card, ranks, workload_gradient_bytes(&o->model));
    return predict_step(card, loads, ranks, jitter, transfer);
}
