/* 04_small_work: how many samples must a rank have before adding a rank is worth it?
 *
 * A rank's step has a part that no smaller batch shortens, and the all-reduce does not depend on the batch:
 *
 *     step = A × (data + f + c × B) + adding + u + T
 *
 *     A          micro-batches in a step, of B samples each
 *     data       fetching a micro-batch
 *     f, c       forward and backward: seconds per micro-batch of any size, and per sample
 *     adding     adding up the micro-batches' gradients; 0 if A = 1
 *     u, T       the update; one all-reduce (transfer), in the trap A of them
 *
 * so the less work a rank has, the larger the share of overhead. Two scalings as published; a small batch, and three things to try:
 *
 *     weak_ws1, _ws2, _ws4      every rank brings its own batch: more ranks, more samples
 *     strong_ws1, _ws2, _ws4    one global batch, dealt out: more ranks, less work for each
 *     small_ws4                 a quarter of the batch on every rank (--micro-batches): with 4 ranks, that of weak_ws1 dealt out
 *     small_accumulate          … and several micro-batches before each sum
 *     small_sum_each            … and the classic trap: a sum after each micro-batch all the same
 *     larger_batch              more samples per rank, by --larger (its efficiency compares like with like if that equals --ranks)
 *
 * ws1, ws2, ws4: one rank, half of the ranks, all (4 as published); other ranks are parked asleep. Efficiency is
 * throughput(n) / (n × throughput(1)), in samples per second; throughput(1) is that of weak_ws1 for weak_ and small_ws4, and of
 * strong_ws1 for the others. The baseline, with which all are compared, is weak_ws4; strong_ws4 is the same under another name, on
 * purpose: a difference between the two is noise.
 *
 *     build/bin/04_small_work --ranks 4 --batch-size 128
 *
 * Look at: `efficiency`, and how `local` and `transfer` share the step. What must hold: expected/04_small_work.csv. weak_ and
 * strong_ repeat cases of a blog post (README.md).
 * Expect: dealing one batch out to more ranks is worth it while c × B is large beside f + u + T. small_ws4 has a short step
 * but low efficiency; one sum for several micro-batches improves that, the trap does not. */
#include "04_small_work.h"

static const struct option_row rows[] = {
    { "--micro-batches", OPTION_INTEGER, offsetof(struct options, micro_batches), 1, 256, "N",
      "cut a batch into N micro-batches; small_ws4 trains on one of them" },
    { "--larger", OPTION_INTEGER, offsetof(struct options, times), 1, 64, "N",
      "the larger batch: N times the usual one" },
    { 0 },
};

static void keep_global_batch(struct options *o, int ranks)
{
    o->run.batch_size = o->run.ranks * o->run.batch_size / ranks;
    o->run.ranks = ranks;
}

/* clang-format off */
static void weak(struct options *o)       { o->per = "weak_ws1"; }
static void weak_one(struct options *o)   { weak(o); o->run.ranks = 1; }
static void weak_half(struct options *o)  { weak(o); o->run.ranks = (o->run.ranks + 1) / 2; }
static void strong(struct options *o)     { o->per = "strong_ws1"; }
static void strong_one(struct options *o) { strong(o); keep_global_batch(o, 1); }
static void strong_half(struct options *o){ strong(o); keep_global_batch(o, (o->run.ranks + 1) / 2); }
static void small(struct options *o)      { weak(o); o->run.batch_size /= o->micro_batches; }

static void larger(struct options *o)     { strong(o); o->run.batch_size *= o->times; }
static void accumulate(struct options *o) { strong(o); o->run.accumulate = o->micro_batches; }
static void sum_each(struct options *o)   { accumulate(o); o->sums_each = true; }

static const struct variant variants[] = {
    /* case              fault        fix         idea, label */
    { "weak_ws4", weak, NULL, "all ranks, each with its own batch", "all ranks" },
    { "weak_ws1", weak_one, NULL, "one rank alone", "one rank alone" },
    { "weak_ws2", weak_half, NULL, "half of the ranks", "half of the ranks" },
    { "strong_ws1", strong_one, NULL, "the global batch of all on one rank", "global batch on one rank" },
    { "strong_ws2", strong_half, NULL, "… divided among half of the ranks", "global batch on half of the ranks" },
    { "strong_ws4", strong, NULL, "… among all: the same as weak_ws4, as a control", "global batch on all ranks" },
    { "small_ws4", small, NULL, "a part of the batch on every rank (--micro-batches)", "small batch" },
    { "small_accumulate", small, accumulate, "… and several before each all-reduce", "small batch + accumulation" },
    { "small_sum_each", small, sum_each, "… the trap: still an all-reduce after each", "small batch + a sum after each" },
    { "larger_batch", weak, larger, "more samples per rank", "large batch" },
    { 0 },
};
/* clang-format on */

/* --- the training step ---------------------------------------------------------------------------------------- */

static const struct lab_spec spec; /* below */

static void add_to(float *total, const float *gradients, size_t count, bool is_first)
{
    if (is_first)
        device_scale(total, gradients, 1, count);
    else
        device_add(total, gradients, count);
}

int main(int argc, char **argv)
{
    struct options base = { .run = run_published, .model = published_mlp, .micro_batches = 4, .times = 4 };
    struct lab *lab = lab_open(&spec, &base, argc, argv);
    struct trainer *t = lab_trainer(lab);
    float *total = device_new(MEMORY_GRADIENTS, t->count, sizeof *total); /* sum of the micro-batches' gradients */

    struct options o;
    while (lab_next_block(lab, &o)) { /* rounds x variants; o = base settings + the variant's change */
        struct collective *collective = lab_collective(lab);
        int micro_batches = o.run.accumulate;

        while (lab_next_step(lab)) {
            for (int i = 0; i < micro_batches; i++) {
                lab_phase(lab, SPAN_DATA);
                const struct batch *batch = trainer_next(t, NO_STALL); /* <- the fault: few samples */
                lab_phase(lab, SPAN_FORWARD);
                trainer_forward(t, batch);
                lab_phase(lab, SPAN_BACKWARD);
                trainer_backward(t, batch);
                if (o.sums_each) /* <- the trap */
                    collective_run(collective, all_reduce(TYPE_F32, t->gradients, t->gradients, t->count));
                if (micro_batches > 1)
                    add_to(total, t->gradients, t->count, i == 0);
            }
            float *of_step = micro_batches > 1 ? total : t->gradients;
            if (!o.sums_each) /* <- where all ranks meet */
                collective_run(collective, all_reduce(TYPE_F32, of_step, of_step, t->count));
            lab_phase(lab, SPAN_UPDATE);
            trainer_update_by(t, of_step);
        }
    }

    device_free(total);
    return lab_close(lab);
}

/* --- what the frame must know of this lab (common/frame/lab_spec.h) ------------------------------------------------ */

static void refuse(const struct options *o)
{
    if (o->run.batch_size % o->micro_batches != 0) /* small_accumulate must train on the samples of strong_ws4 */
        die(STATUS_USAGE, "--batch-size %d cannot be cut into --micro-batches %d of equal size; use a divisor of it",
            o->run.batch_size, o->micro_batches);
}

static int collectives(const struct options *o)
{
    return o->sums_each ? o->run.accumulate : 1;
}

static const char *per(const struct options *o)
{
    return o->per;
}

static int most_samples(const struct options *o)
{
    return o->run.batch_size * (o->times > o->run.ranks ? o->times : o->run.ranks);
}

static struct memory_estimate need(const struct options *o)
{
    return (struct memory_estimate){ .of = { [MEMORY_GRADIENTS] = workload_gradient_bytes(&o->model) } }; /* `total` */
}

static char *event(const struct options *o)
{
    return memory_text("each of the %d ranks trains on %d samples a step instead of %d", o->run.ranks,
                       o->run.batch_size / o->micro_batches, o->run.batch_size);
}

static const struct own_cost costs[] = {
    ADDING_COSTS,
    { 0 },
};

static const struct lab_spec spec = {
    .lab = "04_small_work",
    .question = "How many samples must a rank have before adding a rank is worth it?",
    .variants = variants,
    .rows = rows,
    .options_size = sizeof(struct options),
    .refuse = refuse,
    .most_samples = most_samples,
    .need = need,
    .predict = predict,
    .costs = costs,
    .collectives = collectives,
    .per = per,
    .asked = "small_ws4",
    .event = event,
    .drawn = (const char *const[]){ "weak_ws1", "small_ws4", "small_accumulate", NULL },
    .lesson = (const char *const[]){ "weak_ws1", "weak_ws2", "strong_ws1", "strong_ws2", "small_ws4",
                                     "small_accumulate", "small_sum_each", NULL },
};
