/* 09_ddp_inside: when should gradients be summed, and in pieces of which size?
 *
 * PyTorch's DistributedDataParallel (DDP) does not wait for the end of backward. Its reducer (common/collective/reducer.h) puts the
 * gradients into buckets and starts an all-reduce as soon as backward has filled one. The formula:
 *
 *     step = max over ranks of (data + local) + sum over buckets of T(M) - hidden
 *
 *     T(M)      an all-reduce of M bytes: α + β × M
 *     hidden    what a network carries while backward goes on; 0 if the ranks' cores move the bytes
 *
 *     baseline        one sum after backward
 *     per_tensor      a bucket for each tensor: most α
 *     small_buckets   buckets of --bucket-kb
 *     ddp_default     DDP's: 1 MiB the first, 25 MiB the others
 *     one_bucket      all gradients in one
 *     best_bucket     the size with the shortest step by the formula
 *     wrong_order     small buckets that begin with the model's first tensor, which backward computes last
 *     rebuilt         … built anew after the first step, in the order of backward
 *     bf16_wire       small buckets; half the bytes travel
 *     low_rank        … each matrix as the product of two vectors, what is left out sent later (PowerSGD, rank 1)
 *
 *     build/bin/09_ddp_inside --ranks 2
 *     build/bin/09_ddp_inside --ranks 3 --break left_out     # a mistake that stops a job, and its diagnosis
 *
 * Tables follow. cap_sweep.csv: the step by size of buckets. best.csv: the best size, predicted and found, and what DDP's costs.
 * overlap.csv: bytes, sums, exposed and hidden time of each case. buckets.csv: when each bucket is ready, starts and ends.
 * accumulation.csv: one global batch in several ways, with and without no_sync(). divergence.csv: replicas that differ, and the step in
 * which a check finds it. cures.csv: the price of what helps against the mistakes of --break. scaling.csv and critical.csv: samples and
 * time that larger batches take. Look at: the lanes' second row, started sums. What must hold: expected/09_ddp_inside.csv. Expect: on
 * CPU ranks no case beats the baseline by more than noise; on a network buckets hide sums, too many cost more than they hide. */
#include "09_ddp_inside.h"

#include <math.h>

static const struct option_row rows[] = {
    { "--bucket-kb", OPTION_INTEGER, offsetof(struct options, bucket_kb), 1, 4 << 20, "KiB", "cap of small buckets" },
    { "--check-every", OPTION_INTEGER, offsetof(struct options, check_every), 2, 50, "K",
      "steps from one comparison of replicas to the next" },
    { "--break", OPTION_CHOICE, offsetof(struct options, broken), 0, 0, BREAK_WORDS,
      "instead of measuring, let a rank make this mistake, and say which it was" },
    { "--break-rank", OPTION_INTEGER, offsetof(struct options, break_rank), 0, RANKS_MOST - 1, "R",
      "the rank that makes it" },
    { "--break-step", OPTION_INTEGER, offsetof(struct options, break_step), 0, 1000000, "K",
      "the step, counted from 0, in which it does" },
    { "--cure", OPTION_SWITCH, offsetof(struct options, is_cured), 0, 0, "",
      "with --break: train with each cure of the mistake, and print its price" },
    { "--watch-only", OPTION_SWITCH, offsetof(struct options, watch_only), 0, 0, "",
      "with --break: ranks do not compare their calls, so only a job that hangs is diagnosed" },
    { 0 },
};

/* clang-format off */
static void caps(struct options *o, double first, double most) { o->has_reducer = true; o->first = first; o->most = most; }

static void tensor(struct options *o)      { caps(o, 1, 1); }
static void small(struct options *o)       { caps(o, 1024.0 * o->bucket_kb, 1024.0 * o->bucket_kb); }
static void ddp(struct options *o)         { caps(o, DDP_FIRST, DDP_MOST); }
static void one(struct options *o)         { caps(o, INFINITY, INFINITY); }
static void best(struct options *o)        { one(o); o->is_best = true; }
static void wrong_order(struct options *o) { small(o); o->in_model_order = true; }
static void rebuild(struct options *o)     { o->rebuilds = true; }
static void bf16(struct options *o)        { small(o); o->wire = WIRE_BF16; }
static void low_rank(struct options *o)    { small(o); o->wire = WIRE_LOW_RANK; }

static const struct variant variants[] = {
    /* case            fault        fix         idea, label */
    { "baseline", NULL, NULL, "one sum after backward", "sum after backward" },
    { "per_tensor", tensor, NULL, "a bucket for each tensor", "bucket per tensor" },
    { "small_buckets", small, NULL, "buckets of --bucket-kb", "small buckets" },
    { "ddp_default", ddp, NULL, "1 MiB, then 25 MiB: PyTorch's default", "buckets of 25 MiB" },
    { "one_bucket", one, NULL, "all gradients in one bucket", "one bucket" },
    { "best_bucket", NULL, best, "the size that the formula finds best", "best buckets" },
    { "wrong_order", wrong_order, NULL, "small buckets, the model's first tensor first", "wrong order" },
    { "rebuilt", wrong_order, rebuild, "… built anew in the order of backward", "wrong order + rebuilt" },
    { "bf16_wire", NULL, bf16, "small buckets, half the bytes on the wire", "bf16" },
    { "low_rank", NULL, low_rank, "… each matrix as a product of two vectors", "low rank" },
    { 0 },
};
/* clang-format on */

/* --- the training step ---------------------------------------------------------------------------------------- */

static const struct lab_spec spec; /* below */

int main(int argc, char **argv)
{
    struct options base = { .run = run_published,
                            .model = stacked_mlp,
                            .bucket_kb = 1024,
                            .check_every = 5,
                            .break_rank = 1,
                            .break_step = 3 };
    struct lab *lab = lab_open(&spec, &base, argc, argv);
    struct trainer *t = lab_trainer(lab);
    struct reducer *reducer = reducer_open(t->model, base.run.ranks);

    struct options o;
    while (lab_next_block(lab, &o)) { /* rounds x variants; o = base settings + the variant's change */
        struct collective *collective = lab_collective(lab);
        const struct reducer_settings settings = reducer_of(&o);
        reducer_restart(reducer, collective, &settings);
        model_hook(t->model, o.has_reducer ? reducer_hooks(reducer) : (struct model_hooks){ 0 });

        while (lab_next_step(lab)) {
            lab_phase(lab, SPAN_DATA);
            const struct batch *batch = trainer_next(t, NO_STALL);
            lab_phase(lab, SPAN_FORWARD);
            trainer_forward(t, batch);
            lab_phase(lab, SPAN_BACKWARD);
            trainer_backward(t, batch); /* <- with a reducer, starts the sum of each bucket that is full */
            if (o.has_reducer)
                reducer_finish(reducer); /* <- the only wait */
            else
                collective_run(collective, all_reduce(TYPE_F32, t->gradients, t->gradients, t->count));
            lab_phase(lab, SPAN_UPDATE);
            trainer_update(t);
        }
    }
    model_hook(t->model, (struct model_hooks){ 0 });
    reducer_close(reducer);
    return lab_close(lab);
}

/* --- what the frame must know of this lab (common/frame/lab_spec.h) ------------------------------------------------ */

static void refuse(const struct options *o)
{
    const int tensors = workload_tensors(&o->model, NULL);
    if (tensors > BUCKETS_MOST)
        die(STATUS_USAGE,
            "--num-layers %d makes %d tensors, but at most %d can have a bucket each; choose fewer layers",
            workload_layers(&o->model), tensors, BUCKETS_MOST);
    refuse_break(o);
}

static void complete(struct options *o, const struct card *card)
{
    if (o->is_best && card)
        o->first = o->most = best_cap(o, card);
}

static void uses(const struct options *o, struct card_uses *uses)
{
    card_use(uses, ALL_REDUCE, first_ranks(o->run.ranks), 0);
    for (int ranks = 2; ranks < o->run.ranks && ranks <= MOST_FACTOR; ranks *= 2)
        card_use(uses, ALL_REDUCE, first_ranks(ranks), 0);     /* write_learning() */
    card_use(uses, ALL_GATHER, first_ranks(o->run.ranks), 64); /* hashes of the replicas */
}

static struct memory_estimate case_need(const struct options *o)
{
    return (struct memory_estimate){ .of = { [MEMORY_COMMUNICATION] = reducer_memory(&o->model, o->wire) } };
}

static int collectives(const struct options *o)
{
    return 2 * workload_tensors(&o->model, NULL) + 2;
}

static char *event(const struct options *o)
{
    (void)o;
    return memory_text("the sum of each tensor's gradients starts as soon as backward has computed them");
}

static const struct lab_spec spec = {
    .lab = "09_ddp_inside",
    .question = "When should gradients be summed, and in pieces of which size?",
    .variants = variants,
    .rows = rows,
    .options_size = sizeof(struct options),
    .refuse = refuse,
    .has_other_job = is_break,
    .other_job = run_break,
    .complete = complete,
    .case_need = case_need,
    .predict = predict,
    .uses = uses,
    .costs = own_costs,
    .collectives = collectives,
    .asked = "per_tensor",
    .event = event,
    .drawn = (const char *const[]){ "baseline", "per_tensor", "best_bucket", NULL },
    .lesson = (const char *const[]){ "per_tensor", "small_buckets", "ddp_default", "best_bucket", "wrong_order", NULL },
    .tables = tables,
};
