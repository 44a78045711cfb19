/* 03_comm_bound: when is a step bound by communication, and what makes that cheaper?
 *
 * Besides its gradients, each rank sums 128 MiB more in every step: the gradients of a model of 33.5 million parameters, without
 * its arithmetic. The formula's sum is no longer small:
 *
 *     step = max over ranks of (data + local + host) + sum over messages of (α + β × M) - hidden
 *
 *     M, α, β   bytes of a message; seconds per message and per byte, for this number of ranks and this size
 *     hidden    what a network carries of the started sums while backward goes on; 0 if the ranks' cores move the bytes
 *
 *     comm_ws4          the buffer is mapped, filled and released in every step (host), as in a blog post (README.md)
 *     comm_kept_ws4     … kept, the first fix: no host time
 *     comm_buckets      … cut into buckets, started layer by layer as if backward computed the message evenly: may hide transfer
 *     comm_no_progress  … likewise, without calls to the library during backward: a control; a network needs none
 *     comm_bf16         … half the bytes on the wire (β, not α), for both messages: 8 bits of mantissa, visible in the sum
 *     comm_every_k      … sent only every k steps, as if k gradients were added up first
 *     one_bucket        the model's own gradients, started as one bucket
 *     ddp_buckets       … as two, as PyTorch's DDP cuts them
 *
 *     build/bin/03_comm_bound --ranks 4 --comm-mb 128
 *
 * Two more tables: 03_comm_bound_tables.c. Buckets: 03_comm_bound_messages.c.
 * Look at: `transfer`, `host`, and the lanes' second row: started sums. What must hold: expected/03_comm_bound.csv.
 * Expect: a kept buffer removes `host`; buckets hide transfer only if a network, not the ranks' cores, moves the bytes. */
#include "03_comm_bound.h"

#include <math.h>

static const struct option_row rows[] = {
    { "--comm-mb", OPTION_INTEGER, offsetof(struct options, comm_mb), 1, 4096, "MiB", "size of the extra message" },
    { "--bucket-mb", OPTION_INTEGER, offsetof(struct options, bucket_mb), 1, 4096, "MiB", "largest size of a bucket" },
    { "--sync-every", OPTION_INTEGER, offsetof(struct options, every), 1, 1000, "K",
      "steps from one extra message to the next, as a fix" },
    { "--sweep-mb", OPTION_INTEGER, offsetof(struct options, sweep_mb), 0, 4096, "MiB",
      "the largest message of the sweep; 0: no sweep" },
    { 0 },
};

/* clang-format off */
static void message(struct options *o)     { o->has_message = true; }
static void fresh(struct options *o)       { message(o); o->is_fresh = true; }

static void buckets(struct options *o)     { o->overlaps = o->calls_library = true; }
static void no_progress(struct options *o) { o->overlaps = true; }
static void bf16(struct options *o)        { o->wire = TYPE_BF16; }
static void every_k(struct options *o)     { o->run.cycle = o->every; }
static void one_bucket(struct options *o)  { o->gradient_buckets = 1; o->calls_library = true; }
static void ddp(struct options *o)         { o->gradient_buckets = 2; o->calls_library = true; }

static const struct variant variants[] = {
    /* case              fault        fix         idea, label */
    { "baseline", NULL, NULL, "only the model's own gradients", "baseline" },
    { "comm_ws4", fresh, NULL, "one more message, its buffer allocated in each step", "extra message" },
    { "comm_kept_ws4", message, NULL, "one more message, its buffer reused", "extra message + kept buffer" },
    { "comm_buckets", message, buckets, "… in buckets, started during backward", "extra message + buckets" },
    { "comm_no_progress", message, no_progress, "… but no library calls during backward", "extra message + buckets (no calls)" },
    { "comm_bf16", message, bf16, "… half the bytes on the wire", "extra message + bf16" },
    { "comm_every_k", message, every_k, "… only every k steps", "extra message + every k steps" },
    { "one_bucket", NULL, one_bucket, "no extra message; own gradients in one bucket", "own gradients in one bucket" },
    { "ddp_buckets", NULL, ddp, "… in two buckets, as DDP; the first starts early", "own gradients in two buckets" },
    { 0 },
};
/* clang-format on */

/* --- the training step ---------------------------------------------------------------------------------------- */

static const struct lab_spec spec; /* below */

int main(int argc, char **argv)
{
    struct options base = {
        .run = run_published, .model = published_mlp, .comm_mb = 128, .bucket_mb = 25, .every = 4, .sweep_mb = 256
    };
    struct lab *lab = lab_open(&spec, &base, argc, argv);
    struct trainer *t = lab_trainer(lab);
    size_t count = message_floats(&base);
    struct buffers b = buffers_open(&base, t->model);

    struct options o;
    while (lab_next_block(lab, &o)) { /* rounds x variants; o = base settings + the variant's change */
        struct collective *collective = lab_collective(lab);
        buffers_restart(&b, &o, collective);

        while (lab_next_step(lab)) {
            lab_phase(lab, SPAN_DATA);
            const struct batch *batch = trainer_next(t, NO_STALL);
            lab_phase(lab, SPAN_FORWARD);
            trainer_forward(t, batch);
            lab_phase(lab, SPAN_BACKWARD);
            backward_and_start_buckets(collective, &o, &b, t, batch); /* <- the fix: sums start after each layer */
            finish_buckets(collective, &o, &b);
            if (!o.gradient_buckets)
                sum_in_place(collective, o.wire, &b, t->gradients, t->count);
            if (o.is_fresh) { /* <- the published fault: map, fill and sum a new buffer */
                lab_phase(lab, SPAN_HOST);
                b.fresh = renew(b.fresh, count);
                collective_run(collective, all_reduce(TYPE_F32, b.fresh, b.fresh, count));
            } else if (o.has_message && !o.overlaps &&
                       lab_every(lab, o.run.cycle)) { /* <- the fault, from a kept buffer */
                sum_in_place(collective, o.wire, &b, next_message(&b, count, o.run.ranks), count);
            }
            lab_phase(lab, SPAN_UPDATE);
            trainer_update(t);
        }
    }
    buffers_close(&b, &base);
    return lab_close(lab);
}

/* --- what the frame must know of this lab (common/frame/lab_spec.h) ------------------------------------------------ */

static void refuse(const struct options *o)
{
    int count = buckets_needed(message_floats(o), bucket_floats(o));
    if (count > BUCKETS_MOST)
        die(STATUS_USAGE,
            "--bucket-mb %d cuts --comm-mb %d into %d buckets, but at most %d are possible; use larger ones",
            o->bucket_mb, o->comm_mb, count, BUCKETS_MOST);
}

/* The sweep goes further than the machine card, along the last line of its fit. */
static void uses(const struct options *o, struct card_uses *uses)
{
    card_use(uses, ALL_REDUCE, first_ranks(o->run.ranks), MIB * fmax(o->comm_mb, fmin(o->sweep_mb, 16)));
}

static struct memory_estimate need(const struct options *o)
{
    double message = (double)MIB * o->comm_mb, gradients = workload_gradient_bytes(&o->model);
    return (struct memory_estimate){ .of = { [MEMORY_COMMUNICATION] =
                                                 message + fmax(message, gradients) / 2 } }; /* and as bf16 */
}

static struct memory_estimate case_need(const struct options *o)
{
    return (struct memory_estimate){ .of = { [MEMORY_COMMUNICATION] = o->is_fresh ? (double)MIB * o->comm_mb : 0 } };
}

static int collectives(const struct options *o)
{
    return cut_message(o).count + cut_own(o).count + 2;
}

static char *event(const struct options *o)
{
    return memory_text("each rank also sums %d MiB in every step, in a newly allocated buffer", o->comm_mb);
}

static const struct lab_spec spec = {
    .lab = "03_comm_bound",
    .question = "When is a step bound by communication, and what makes that cheaper?",
    .variants = variants,
    .rows = rows,
    .options_size = sizeof(struct options),
    .refuse = refuse,
    .need = need,
    .case_need = case_need,
    .predict = predict,
    .uses = uses,
    .costs = own_costs,
    .collectives = collectives,
    .asked = "comm_ws4",
    .event = event,
    .drawn = (const char *const[]){ "baseline", "comm_kept_ws4", "comm_buckets", NULL },
    .lesson = (const char *const[]){ "comm_ws4", "comm_kept_ws4", "comm_buckets", "comm_bf16", "comm_every_k", NULL },
    .tables = tables,
};
