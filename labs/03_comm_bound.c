/* 03_comm_bound: when is a step bound by communication, and what makes that cheaper?
 *
 * Besides its gradients, each rank sums 128 MiB more in every step: the gradients of a model of 33.5 million parameters, without
 * its arithmetic. The formula's last term is no longer small:
 *
 *     step = max over ranks of (data + local + host) + sum over messages of (alpha + beta x bytes)
 *
 *     comm_ws4          the buffer is mapped, filled and released in every step (host), as in the post
 *     comm_kept_ws4     … kept: the first fix costs nothing
 *     comm_buckets      … cut into buckets, each started when backward has it: transfer beside work is hidden
 *     comm_no_progress  … without calls to the library meanwhile
 *     comm_bf16         … half the bytes on the wire, for both messages: 8 bits of mantissa, visible in the sum
 *     comm_every_k      … sent only every k steps, as if k gradients were added up first
 *     one_bucket        the model's own gradients, started as one bucket
 *     ddp_buckets       … as two, as PyTorch's DDP cuts them
 *
 *     build/bin/03_comm_bound --ranks 4 --comm-mb 128
 *
 * Two tables follow. sweep.csv: time, algorithm and bus bandwidth of all-reduces of 4 B to 256 MiB alone, and the card's fit.
 * exposed.csv: how much the message lengthens the passes, in buckets of many sizes.
 * Look at: `transfer`, `host`, and the transfers in the lanes' second row. comm_ws4 is the published case.
 * Expect: a kept buffer removes `host`; buckets hide transfer only if a network, not the ranks' cores, moves the bytes. */
#include "frame/lab.h"
#include "frame/train.h"

#include <math.h>
#include <stdlib.h>

enum { MIB = 1 << 20 };

struct options {
    struct run run;
    int comm_mb;   /* the extra message */
    int bucket_mb; /* most of it that a bucket holds */
    int every;     /* the k of the fix */
    int sweep_mb;  /* the largest message of the sweep */
    /* Set by the variants: */
    bool has_message; /* the extra message */
    bool is_fresh;    /* its buffer is mapped and filled in every step */
    bool overlaps;    /* in buckets, started during backward */
    bool progresses;  /* the library is called after each layer */
    int own_buckets;  /* of the model's own gradients, started during backward; 0: one sum after backward */
    enum wire wire;
};

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

static void buckets(struct options *o)     { o->overlaps = o->progresses = true; }
static void no_progress(struct options *o) { o->overlaps = true; }
static void bf16(struct options *o)        { o->wire = WIRE_BF16; }
static void every_k(struct options *o)     { o->run.sync_every = o->every; }
static void one_bucket(struct options *o)  { o->own_buckets = 1; o->progresses = true; }
static void ddp(struct options *o)         { o->own_buckets = 2; o->progresses = true; }

static const struct variant variants[] = {
    /* case              pathology    fix         idea */
    { "baseline", NULL, NULL, "only the model's own gradients" },
    { "comm_ws4", fresh, NULL, "one more message, its buffer allocated in each step" },
    { "comm_kept_ws4", message, NULL, "one more message, its buffer reused" },
    { "comm_buckets", message, buckets, "… in buckets, started during backward" },
    { "comm_no_progress", message, no_progress, "… but no library calls during backward" },
    { "comm_bf16", message, bf16, "… half the bytes on the wire" },
    { "comm_every_k", message, every_k, "… only every k steps" },
    { "one_bucket", NULL, one_bucket, "no extra message; own gradients in one bucket" },
    { "ddp_buckets", NULL, ddp, "… in two buckets, as DDP; the first starts early" },
    { 0 },
};
/* clang-format on */

/* --- messages ---------------------------------------------------------------------------------------------------- */

static size_t message_floats(const struct options *o)
{
    return (size_t)o->comm_mb * MIB / sizeof(float);
}

static size_t bucket_floats(const struct options *o)
{
    return (size_t)o->bucket_mb * MIB / sizeof(float);
}

/* Cut the extra message into buckets, as if backward computed it evenly. */
static struct buckets cut_message(const struct options *o)
{
    return o->overlaps ? buckets_cut(message_floats(o), bucket_floats(o), MLP_LAYERS) : (struct buckets){ 0 };
}

/* Cut the model's own gradients: one bucket, or two as in DDP, the last layer alone and the other two together. */
static struct buckets cut_own(const struct options *o)
{
    size_t last = mlp_layer_offset(&o->run, MLP_LAYERS - 1), end = mlp_layer_offset(&o->run, MLP_LAYERS);
    struct buckets own = { .count = o->own_buckets };
    own.at[0] = (struct bucket){ .begin = 0, .count = end, .layer = 0 };
    if (own.count == 2) {
        own.at[0] = (struct bucket){ .begin = last, .count = end - last, .layer = MLP_LAYERS - 1 };
        own.at[1] = (struct bucket){ .begin = 0, .count = last, .layer = 0 };
    }
    return own;
}

static void refuse(const struct options *o)
{
    int count = buckets_needed(message_floats(o), bucket_floats(o));
    if (count > BUCKETS_MOST)
        die(STATUS_USAGE,
            "--bucket-mb %d cuts --comm-mb %d into %d buckets, but at most %d are possible; use larger ones",
            o->bucket_mb, o->comm_mb, count, BUCKETS_MOST);
}

/* --- the formula ------------------------------------------------------------------------------------------------- */

/* Exposed seconds of all sums started during backward. `passes`: seconds of forward and backward, without contention. A network
 * that needs no core carries the sums meanwhile; ranks that must move the bytes themselves begin at the end. */
static double exposed(const struct options *o, const struct card *card, double passes)
{
    const struct buckets cuts[] = { cut_message(o), cut_own(o) };
    double before[COLLECTIVE_STARTED_MOST], seconds[COLLECTIVE_STARTED_MOST];
    double left[MLP_LAYERS] = { 0 }; /* from the end of a layer to the end of backward */
    int count = 0;
    passes *= card_contention_slowdown(card, o->run.ranks);
    for (int layer = 1; layer < MLP_LAYERS; layer++)
        left[layer] = left[layer - 1] + passes * mlp_backward_share(&o->run, layer - 1);
    for (int cut = 0; cut < 2; cut++)
        for (int i = 0; i < cuts[cut].count; i++, count++) {
            const struct bucket *bucket = &cuts[cut].at[i];
            before[count] = left[bucket->layer] * (1 - card->transfer_core);
            seconds[count] = card_allreduce(card, o->run.ranks, (double)bucket->count * sizeof(float));
        }
    return predict_exposed(before, seconds, count);
}

static double predict_transfer(const struct options *o, const struct card *card, double passes)
{
    int ranks = o->run.ranks;
    double half = o->wire == WIRE_BF16 ? 0.5 : 1, seconds = exposed(o, card, passes);
    if (!o->own_buckets)
        seconds += card_allreduce(card, ranks, half * mlp_gradient_bytes(&o->run));
    if (o->has_message && !o->overlaps)
        seconds += card_allreduce(card, ranks, half * (double)MIB * o->comm_mb) / o->run.sync_every;
    return seconds;
}

/* Seconds of rounding to bf16 and back: 4 bytes read and 2 written, 2 read and 4 written. */
static double convert_seconds(const struct options *o, const struct card *card)
{
    double floats = mlp_gradient_bytes(&o->run) / sizeof(float) + (o->has_message ? (double)message_floats(o) : 0);
    return o->wire == WIRE_BF16 ? 12 * floats / card->copy_bandwidth : 0;
}

static struct prediction predict(const struct options *o, const struct card *card)
{
    int ranks = o->run.ranks;
    struct local_cost cost = card_local(card, ranks);
    struct work batch = work_samples(o->run.batch_size);
    double passes = cost_at(&cost.passes, batch);
    struct load load = { .data = cost_at(&cost.fetch, batch),
                         .local = passes + cost.update + convert_seconds(o, card),
                         .host = o->is_fresh ? (double)MIB * o->comm_mb / card->fresh_bandwidth : 0 };
    load.cpu = load.data + load.local + load.host;
    load.after = cost.update;
    return predict_alike(card, load, ranks, card_jitter(card, ranks, load.cpu), predict_transfer(o, card, passes));
}

/* Largest message that the card must measure. The sweep goes further, along the last line of the fit. */
static double largest_message(const struct options *o)
{
    return MIB * fmax(o->comm_mb, fmin(o->sweep_mb, 16));
}

static struct memory_estimate need(const struct options *o)
{
    struct memory_estimate memory = trainer_memory(&o->run, o->run.batch_size);
    double message = (double)MIB * o->comm_mb, gradients = mlp_gradient_bytes(&o->run),
           sweep = (double)o->sweep_mb * MIB;
    double own = 2 * message + fmax(message, gradients) / 2; /* kept, fresh; and one of bf16 */
    memory.of[MEMORY_MESSAGES] += own + sweep;
    return memory;
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
    .workload = &workload_mlp,
    .variants = variants,
    .rows = rows,
    .options_size = sizeof(struct options),
    .refuse = refuse,
    .need = need,
    .predict = predict,
    .largest_message = largest_message,
    .collectives = collectives,
    .asked = "comm_ws4",
    .event = event,
    .drawn = (const char *const[]){ "baseline", "comm_kept_ws4", "comm_buckets", NULL },
};

/* --- the step ---------------------------------------------------------------------------------------------------- */

/* Buffers of the extra message and of bf16, and the started sums. */
struct buffers {
    float *kept;      /* (message) */
    float kept_value; /* of all its elements; INFINITY: not filled yet */
    float *fresh;     /* (message) mapped anew in each step, or NULL */
    uint16_t *narrow; /* (message or gradients, the larger) */
    struct started_sums started;
};

/* Return the kept message, to be summed in place. Each sum multiplies its value by the ranks, so it begins small. It is refilled
 * before it overflows: in the warm-up, and then once in dozens of steps. */
static float *next_message(struct buffers *b, size_t count, int ranks)
{
    const float least = 0x1p-60f, most = 0x1p60f;
    if (!(b->kept_value <= most)) {
        device_fill(b->kept, least, count);
        b->kept_value = least;
    }
    b->kept_value *= (float)ranks;
    return b->kept;
}

/* Release the last step's message and fill a new one. The release waits until now: a virtual machine may give pages that are free
 * for a second or two to its host, and to get them back takes many times as long. */
static float *renew(float *fresh, size_t count)
{
    device_unmap(fresh, count * sizeof *fresh);
    fresh = device_map(count * sizeof *fresh);
    device_fill(fresh, 1, count);
    return fresh;
}

static void sum_in_place(struct collective *collective, enum wire wire, struct buffers *b, float *terms, size_t count)
{
    if (wire == WIRE_F32) {
        collective_sum(collective, wire, terms, terms, count);
        return;
    }
    device_narrow(b->narrow, terms, count);
    collective_sum(collective, wire, b->narrow, b->narrow, count);
    device_widen(terms, b->narrow, count);
}

/* Run backward, and start the buckets that each layer completes. */
static void backward(struct collective *collective, const struct options *o, struct buffers *b, struct trainer *t,
                     const struct batch *batch)
{
    const struct buckets extra = cut_message(o), own = cut_own(o);
    float *message = extra.count > 0 ? next_message(b, message_floats(o), o->run.ranks) : NULL;
    float *gradients = mlp_gradients(t->model);
    for (int layer = MLP_LAYERS; layer-- > 0;) {
        mlp_backward(t->model, batch, layer);
        buckets_start(&extra, layer, collective, message, message, &b->started);   /* <- the fix: transfer while */
        buckets_start(&own, layer, collective, gradients, gradients, &b->started); /* backward goes on */
        if (o->progresses)
            collective_progress(collective);
    }
}

/* --- buckets of many sizes --------------------------------------------------------------------------------------- */

/* On rank 0: seconds of forward, backward and all sums that backward started, from the last rank's begin to the last rank's
 * end. */
static double time_passes(struct world *world, struct collective *collective, const struct options *o,
                          struct trainer *t, struct buffers *b)
{
    struct lap {
        double begin, end;
    } mine, *all = memory_new((size_t)o->run.ranks, sizeof *all);
    const struct batch *batch = loader_next(t->loader, (struct stall){ STALL_NONE, 0 });
    device_wait();
    world_barrier(world);
    mine.begin = world_now();
    mlp_forward(t->model, batch);
    backward(collective, o, b, t, batch);
    buckets_finish(&b->started, collective);
    device_wait();
    mine.end = world_now();
    world_gather(world, &mine, sizeof mine, all);
    double begin = -INFINITY, end = -INFINITY;
    for (int rank = 0; rank < o->run.ranks; rank++) {
        begin = fmax(begin, all[rank].begin);
        end = fmax(end, all[rank].end);
    }
    free(all);
    return end - begin;
}

/* On rank 0: seconds by which the message in buckets lengthens the passes, because it ends later or because the ranks' cores moved
 * it. Mean of a few steps with and without the message, in turns. */
static double measure_exposed(struct world *world, const struct options *o, struct trainer *t, struct buffers *b)
{
    enum { WARMUPS = 1, STEPS = 2 };
    struct options without = *o;
    without.overlaps = without.progresses = false;
    struct collective *collective = collective_open(world, NULL);
    double seconds = 0;
    for (int step = -WARMUPS; step < STEPS; step++) {
        double longer = -time_passes(world, collective, &without, t, b);
        longer += time_passes(world, collective, o, t, b);
        seconds += step < 0 ? 0 : longer / STEPS;
    }
    collective_close(collective);
    return seconds;
}

/* Write exposed.csv: buckets of 1, 4, 16 … MiB, and one of the whole message. */
static void compare_buckets(struct lab *lab, const struct options *base, struct trainer *t, struct buffers *b)
{
    const struct card *card = lab_card(lab);
    struct local_cost cost = card_local(card, base->run.ranks);
    double passes = cost_at(&cost.passes, work_samples(base->run.batch_size));
    struct csv *csv = lab_table(lab, "exposed.csv");
    struct options o = *base;
    message(&o);
    buckets(&o);
    for (int mb = 1; mb < 4 * o.comm_mb; mb *= 4) {
        o.bucket_mb = mb < o.comm_mb ? mb : o.comm_mb;
        int count = buckets_needed(message_floats(&o), bucket_floats(&o));
        if (count > BUCKETS_MOST)
            continue;
        double seconds = measure_exposed(lab_world(lab), &o, t, b);
        while (csv) {
            csv_integer(csv, "bucket_mb", o.bucket_mb);
            csv_integer(csv, "buckets", count);
            csv_ms(csv, "exposed_ms", seconds);
            csv_ms(csv, "predicted_ms", exposed(&o, card, passes));
            if (!csv_end_row(csv))
                break;
        }
    }
}

int main(int argc, char **argv)
{
    struct options base = { .run = run_published, .comm_mb = 128, .bucket_mb = 25, .every = 4, .sweep_mb = 256 };
    struct lab *lab = lab_open(&spec, &base, argc, argv);
    int rank = world_rank(lab_world(lab));
    struct trainer t = trainer_open(&base.run, base.run.batch_size);
    size_t count = message_floats(&base), wider = count > t.count ? count : t.count;
    float *gradients = mlp_gradients(t.model); /* own gradients; after the all-reduce, the sum over ranks */
    struct buffers b = { .kept = device_new(count, sizeof(float)),
                         .kept_value = INFINITY,
                         .narrow = device_new(wider, sizeof(uint16_t)) };

    struct options o;
    while (lab_next_block(lab, &o)) { /* rounds x variants; o = base settings + the variant's change */
        struct collective *collective = lab_collective(lab);
        trainer_restart(&t, share_even(&o.run, rank), 0, 1.0f / (float)run_global_batch(&o.run));

        while (lab_next_step(lab)) {
            lab_phase(lab, SPAN_DATA);
            const struct batch *batch = loader_next(t.loader, (struct stall){ STALL_NONE, 0 });
            lab_phase(lab, SPAN_FORWARD);
            mlp_forward(t.model, batch);
            lab_phase(lab, SPAN_BACKWARD);
            backward(collective, &o, &b, &t, batch);
            buckets_finish(&b.started, collective);
            if (!o.own_buckets)
                sum_in_place(collective, o.wire, &b, gradients, t.count);
            if (o.is_fresh) { /* <- the published pathology: map, fill and sum a new buffer */
                lab_phase(lab, SPAN_HOST);
                b.fresh = renew(b.fresh, count);
                collective_sum(collective, WIRE_F32, b.fresh, b.fresh, count);
            } else if (o.has_message && !o.overlaps && lab_every(lab, o.run.sync_every)) {
                sum_in_place(collective, o.wire, &b, next_message(&b, count, o.run.ranks), count);
            }
            lab_phase(lab, SPAN_UPDATE);
            adamw_update(t.optimizer, mlp_parameters(t.model), gradients);
        }
        device_unmap(b.fresh, count * sizeof(float));
        b.fresh = NULL;
        b.kept_value = INFINITY; /* every block begins alike */
        lab_judge(lab, mlp_loss(t.model, 1), o.run.batch_size, mlp_parameters(t.model), t.count);
    }
    if (base.run.ranks > 1 && base.run.cases.count == 0) { /* one rank has no link to measure */
        const int mb = base.run.quick && base.sweep_mb > 16 ? 16 : base.sweep_mb;
        if (mb > 0)
            sweep_table(lab_table(lab, "sweep.csv"), lab_world(lab), lab_card(lab), (double)MIB * mb,
                        base.run.quick || base.run.takes_turns ? 3 : 5);
        if (!base.run.quick)
            compare_buckets(lab, &base, &t, &b);
    }

    device_free(b.kept);
    device_free(b.narrow);
    trainer_close(&t);
    return lab_close(lab);
}
