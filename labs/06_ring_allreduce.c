/* 06_ring_allreduce: which ranks add up the gradients, and which way is cheapest for which size?
 *
 * An all-reduce is messages and additions. Three all-reduces are written out in 06_ring_allreduce_ways.c. Each trains the step of
 * lab 01, and so does the library's own: step = max over ranks of (data + local) + transfer. T(M, n), the transfer of M bytes
 * among n ranks:
 *
 *     gather      all ranks send to rank 0, which adds, sends back         (n - 1) × (2 send(M) + add(M))
 *     doubling    each rank swaps its whole sum with a partner 1, 2, 4 …
 *                 ranks away, and adds                                     log2 n × (exchange(M) + add(M)),
 *                                                                          else + 2 send(M) + add(M)
 *     ring        n equal parts; n - 1 turns add them up, n - 1 turns
 *                 pass the sums on                                         2 (n - 1) exchange(M / n) + (n - 1) add(M / n)
 *
 * "else": n is not a power of two; log2 n is then rounded down, and the ranks beyond send first and receive last. send(M),
 * exchange(M): a message of M bytes one way, and both ways at once; add(M): adding M bytes. The machine card (costs measured on
 * this machine before any case) has all three, each as α + β × M per range of sizes. It never holds these three all-reduces, so
 * they are predictions.
 *
 *     build/bin/06_ring_allreduce --ranks 4
 *
 * Three tables follow. traffic.csv: what each rank sends, counted and by formula. sweep.csv: every way from 4 B on, measured and
 * predicted. crossover.csv: the size from which the ring is quicker than doubling, predicted and found.
 * Look at `transfer`: no rank is late, and still steps differ. What must hold: expected/06_ring_allreduce.csv.
 * Expect, with four ranks: for the gradients gather is slowest, and by_ring like the baseline, by default a ring, too. In the sweep
 * doubling is quicker below the crossover, the ring above. */
#include "06_ring_allreduce.h"

#include <math.h>

static const struct option_row rows[] = {
    { "--sweep-mb", OPTION_INTEGER, offsetof(struct options, sweep_mb), 0, 4096, "MiB",
      "the largest message of the sweep; 0: no sweep" },
    { 0 },
};

/* clang-format off */
static void gather(struct options *o)   { o->way = GATHER; }
static void doubling(struct options *o) { o->way = DOUBLING; }
static void ring(struct options *o)     { o->way = RING; }

static const struct variant variants[] = {
    /* case        fault      fix       idea, label */
    { "baseline", NULL, NULL, "the library's own all-reduce", "library's all-reduce" },
    { "by_gather", gather, NULL, "all ranks send to rank 0, which adds and sends back", "gather at rank 0" },
    { "by_doubling", gather, doubling, "… with a partner, twice as far away each time", "recursive doubling" },
    { "by_ring", gather, ring, "… in parts round a ring: once to add, once to share the sum", "ring by hand" },
    { 0 },
};
/* clang-format on */

/* --- the training step ---------------------------------------------------------------------------------------- */

static const struct lab_spec spec; /* below */

int main(int argc, char **argv)
{
    struct options base = { .run = run_published, .model = published_mlp, .sweep_mb = 16 };
    struct lab *lab = lab_open(&spec, &base, argc, argv);
    struct trainer *t = lab_trainer(lab);
    struct by_hand *by_hand = by_hand_open(lab_world(lab), &base);

    struct options o;
    while (lab_next_block(lab, &o)) { /* rounds x variants; o = base settings + the variant's change */
        struct collective *collective = lab_collective(lab);
        collective_all_reduce_by(collective, implementation_of(o.way), &by_hand[o.way]); /* <- which way to add */

        while (lab_next_step(lab)) {
            lab_phase(lab, SPAN_DATA);
            const struct batch *batch = trainer_next(t, NO_STALL);
            lab_phase(lab, SPAN_FORWARD);
            trainer_forward(t, batch);
            lab_phase(lab, SPAN_BACKWARD);
            trainer_backward(t, batch);
            /* All ranks meet in this call; it runs the way chosen above: */
            collective_run(collective, all_reduce(TYPE_F32, t->gradients, t->gradients, t->count));
            lab_phase(lab, SPAN_UPDATE);
            trainer_update(t);
        }
    }
    by_hand_close(by_hand);
    return lab_close(lab);
}

/* --- what the frame must know of this lab (common/frame/lab_spec.h) ------------------------------------------------ */

/* Predictions of larger all-reduces follow the last line of the fit. */
static void uses(const struct options *o, struct card_uses *uses)
{
    card_use(uses, ALL_REDUCE, first_ranks(o->run.ranks), fmin(sweep_bytes(o), 16.0 * MIB));
    uses->messages = true; /* the parts of an all-reduce by hand */
}

static struct memory_estimate need(const struct options *o)
{
    return (struct memory_estimate){ .of = { [MEMORY_COMMUNICATION] = by_hand_bytes(o) } };
}

static char *event(const struct options *o)
{
    return memory_text("all %d ranks send their gradients to rank 0, which adds them up and sends the sum back",
                       o->run.ranks);
}

static const struct lab_spec spec = {
    .lab = "06_ring_allreduce",
    .question = "Which ranks add up the gradients, and which way is cheapest for which size?",
    .variants = variants,
    .rows = rows,
    .options_size = sizeof(struct options),
    .need = need,
    .predict = predict,
    .uses = uses,
    .asked = "by_gather",
    .event = event,
    .drawn = (const char *const[]){ "baseline", "by_gather", "by_ring", NULL },
    .tables = tables,
};
