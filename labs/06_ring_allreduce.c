/* 06_ring_allreduce: which ranks add up the gradients, and which way is cheapest for which size?
 *
 * An all-reduce is messages and additions. Three all-reduces are written out below. Each trains the step of lab 01, and so does the
 * library's own. Seconds with n ranks and S bytes:
 *
 *     gather      all ranks send to rank 0, which adds and sends back        (n - 1) (2 m(S) + a(S))
 *     doubling    exchange all, with a partner twice as far each time  log2 n (x(S) + a(S))
 *     ring        n-th parts, round once to be added, once whole       2 (n - 1) x(S / n) + (n - 1) a(S / n)
 *
 * m(b), x(b): a message of b bytes one way, and both ways at once; a(b): adding b bytes. The machine card has all three, each as
 * alpha + beta x bytes per range of sizes. It never measures these three all-reduces.
 *
 *     build/bin/06_ring_allreduce --ranks 4
 *
 * Three tables follow. traffic.csv: what each rank sends, counted and by formula. sweep.csv: every way from 4 B on, measured and
 * predicted. crossover.csv: the size from which the ring is quicker than doubling, predicted and found.
 * Look at `transfer`: no rank is late, and still steps differ.
 * Expect, with four ranks: gather is slowest; doubling is quicker below the crossover, the ring above. */
#include "frame/lab.h"
#include "frame/train.h"

#include <math.h>
#include <stdlib.h>

enum { MIB = 1 << 20 };
enum way { LIBRARY, GATHER, DOUBLING, RING, WAYS };

struct options {
    struct run run;
    int sweep_mb; /* the largest message of the sweep */
    /* Set by the variants: */
    enum way way; /* how the gradients are added up */
};

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
    /* case        pathology  fix       idea */
    { "baseline", NULL, NULL, "the library's own all-reduce" },
    { "by_gather", gather, NULL, "all ranks send to rank 0, which adds and sends back" },
    { "by_doubling", gather, doubling, "… with a partner, twice as far away each time" },
    { "by_ring", gather, ring, "… in parts round a ring: once to add, once to share the sum" },
    { 0 },
};
/* clang-format on */

/* --- three ways to add ------------------------------------------------------------------------------------------- */

/* Replace each rank's data (count) by the sum over ranks, bit-equal on all ranks; scratch (count). */
typedef void summing(struct p2p *p2p, float *data, size_t count, float *scratch);

/* Sum on rank 0, which sends the result to all ranks. So all have the same bits. */
static void sum_by_gather(struct p2p *p2p, float *data, size_t count, float *scratch)
{
    int rank = p2p_rank(p2p), ranks = p2p_count(p2p);
    if (rank > 0) {
        p2p_send(p2p, 0, data, count);
        p2p_receive(p2p, 0, data, count);
        return;
    }
    for (int from = 1; from < ranks; from++) {
        p2p_receive(p2p, from, scratch, count);
        device_add(data, scratch, count);
    }
    for (int to = 1; to < ranks; to++)
        p2p_send(p2p, to, data, count);
}

static int power_of_two(int ranks) /* the largest one up to `ranks` */
{
    int power = 1;
    while (2 * power <= ranks)
        power *= 2;
    return power;
}

/* Sum by exchanges with partners. Before an exchange, the ranks of a group hold equal sums, and their partners are another group.
 * a + b has the same bits as b + a, so both groups hold equal sums afterwards. Ranks beyond a power of two send their terms to a
 * rank that takes part, and receive the sum from it. */
static void sum_by_doubling(struct p2p *p2p, float *data, size_t count, float *scratch)
{
    int rank = p2p_rank(p2p), ranks = p2p_count(p2p), power = power_of_two(ranks);
    if (rank >= power) {
        p2p_send(p2p, rank - power, data, count);
        p2p_receive(p2p, rank - power, data, count);
        return;
    }
    bool has_extra = rank + power < ranks;
    if (has_extra) {
        p2p_receive(p2p, rank + power, scratch, count);
        device_add(data, scratch, count);
    }
    for (int distance = 1; distance < power; distance *= 2) {
        int partner = rank ^ distance;
        p2p_pass(p2p, partner, data, count, partner, scratch, count);
        device_add(data, scratch, count);
    }
    if (has_extra)
        p2p_send(p2p, rank + power, data, count);
}

/* Part i (modulo ranks) of `count` elements cut into `ranks` parts. Parts may differ in size or be empty. */
struct part {
    size_t begin, count;
};
static struct part part_of(int i, int ranks, size_t count)
{
    size_t n = (size_t)ranks, at = (size_t)((i % ranks + ranks) % ranks);
    size_t begin = count * at / n;
    return (struct part){ begin, count * (at + 1) / n - begin };
}

/* Sum round a ring. In the reduce-scatter each part goes round, and every rank but its first adds its own terms; rank r then has
 * the whole sum of part r + 1. In the all-gather the sums go round. Each sum is finished on one rank, so all have the same bits. */
static void sum_by_ring(struct p2p *p2p, float *data, size_t count, float *scratch)
{
    int rank = p2p_rank(p2p), ranks = p2p_count(p2p);
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    for (int turn = 0; turn < ranks - 1; turn++) {
        struct part mine = part_of(rank - turn, ranks, count), next = part_of(rank - turn - 1, ranks, count);
        p2p_pass(p2p, right, data + mine.begin, mine.count, left, scratch, next.count);
        device_add(data + next.begin, scratch, next.count);
    }
    for (int turn = 0; turn < ranks - 1; turn++) {
        struct part mine = part_of(rank + 1 - turn, ranks, count), next = part_of(rank - turn, ranks, count);
        p2p_pass(p2p, right, data + mine.begin, mine.count, left, data + next.begin, next.count);
    }
}

/* --- the formulas ------------------------------------------------------------------------------------------------ */

/* Seconds until the last rank has the sum of `bytes`. All links are taken to cost what the card measured between two ranks. */
static double gather_seconds(const struct card *card, int ranks, double bytes)
{
    const struct p2p_cost *p = &card->p2p;
    return (ranks - 1) * (2 * alpha_beta_seconds(&p->send, bytes) + alpha_beta_seconds(&p->add, bytes));
}

static double doubling_seconds(const struct card *card, int ranks, double bytes)
{
    const struct p2p_cost *p = &card->p2p;
    int power = power_of_two(ranks);
    double add = alpha_beta_seconds(&p->add, bytes), seconds = 0;
    for (int distance = 1; distance < power; distance *= 2)
        seconds += alpha_beta_seconds(&p->exchange, bytes) + add;
    return seconds + (power < ranks ? 2 * alpha_beta_seconds(&p->send, bytes) + add : 0);
}

static double ring_seconds(const struct card *card, int ranks, double bytes)
{
    const struct p2p_cost *p = &card->p2p;
    double part = fmax(bytes / ranks, sizeof(float));
    return (ranks - 1) * (2 * alpha_beta_seconds(&p->exchange, part) + alpha_beta_seconds(&p->add, part));
}

/* Messages and bytes that a rank sends to sum `bytes`. */
static struct traffic gather_sends(int rank, int ranks, double bytes)
{
    int messages = ranks == 1 ? 0 : rank == 0 ? ranks - 1 : 1;
    return (struct traffic){ .sent_bytes = messages * bytes, .sent_messages = messages };
}

static struct traffic doubling_sends(int rank, int ranks, double bytes)
{
    int power = power_of_two(ranks), messages = rank + power < ranks || rank >= power;
    for (int distance = 1; distance < power && rank < power; distance *= 2)
        messages++;
    return (struct traffic){ .sent_bytes = messages * bytes, .sent_messages = messages };
}

static struct traffic ring_sends(int rank, int ranks, double bytes)
{
    (void)rank;
    return (struct traffic){ .sent_bytes = 2.0 * (ranks - 1) / ranks * bytes, .sent_messages = 2 * (ranks - 1) };
}

static const struct method {
    const char *name;
    summing *sum; /* NULL: the library's */
    double (*seconds)(const struct card *card, int ranks, double bytes);
    struct traffic (*sends)(int rank, int ranks, double bytes);
} methods[WAYS] = {
    [LIBRARY] = { "library", NULL, card_allreduce, NULL },
    [GATHER] = { "gather", sum_by_gather, gather_seconds, gather_sends },
    [DOUBLING] = { "doubling", sum_by_doubling, doubling_seconds, doubling_sends },
    [RING] = { "ring", sum_by_ring, ring_seconds, ring_sends },
};

static struct prediction predict(const struct options *o, const struct card *card)
{
    int ranks = o->run.ranks;
    struct local_cost cost = card_local(card, ranks);
    struct work batch = work_samples(o->run.batch_size);
    double data = cost_at(&cost.fetch, batch), local = cost_at(&cost.passes, batch) + cost.update;
    struct load load = { .data = data, .local = local, .cpu = data + local, .after = cost.update };
    double transfer = methods[o->way].seconds(card, ranks, mlp_gradient_bytes(&o->run));
    return predict_alike(card, load, ranks, card_jitter(card, ranks, load.cpu), transfer);
}

/* Bytes of the sweep's largest message; 0 for one rank, or if --cases selects cases. */
static double sweep_bytes(const struct options *o)
{
    int mb = o->run.quick && o->sweep_mb > 4 ? 4 : o->sweep_mb;
    return o->run.ranks > 1 && o->run.cases.count == 0 ? (double)MIB * mb : 0;
}

/* Largest message that the card must measure. Predictions of larger ones follow the last line of the fit. */
static double largest_message(const struct options *o)
{
    return fmin(sweep_bytes(o), 16.0 * MIB);
}

static double scratch_bytes(const struct options *o)
{
    return fmax(mlp_gradient_bytes(&o->run), sweep_bytes(o));
}

static struct memory_estimate need(const struct options *o)
{
    struct memory_estimate memory = trainer_memory(&o->run, o->run.batch_size);
    memory.of[MEMORY_MESSAGES] += scratch_bytes(o) + sweep_bytes(o);
    return memory;
}

static char *event(const struct options *o)
{
    return memory_text("all %d ranks send their gradients to rank 0, which adds them up and sends the sum back",
                       o->run.ranks);
}

static const struct lab_spec spec = {
    .lab = "06_ring_allreduce",
    .question = "Which ranks add up the gradients, and which way is cheapest for which size?",
    .workload = &workload_mlp,
    .variants = variants,
    .rows = rows,
    .options_size = sizeof(struct options),
    .need = need,
    .predict = predict,
    .largest_message = largest_message,
    .asked = "by_gather",
    .event = event,
    .drawn = (const char *const[]){ "baseline", "by_gather", "by_ring", NULL },
};

/* --- beside the step --------------------------------------------------------------------------------------------- */

/* Arguments of an all-reduce by hand. */
struct hands {
    summing *sum;
    struct p2p *p2p;
    float *scratch;
};

static void sum_by_hand(void *argument, float *data, size_t count)
{
    const struct hands *h = argument;
    h->sum(h->p2p, data, count, h->scratch);
}

static allreduce_impl *way_of(enum way way)
{
    return methods[way].sum ? sum_by_hand : NULL;
}

/* Write traffic.csv: what each rank sends in one sum of the gradients. */
static void count_traffic(struct lab *lab, struct hands *hands, float *data, size_t count)
{
    int ranks = world_size(lab_world(lab));
    struct traffic *all = memory_new((size_t)ranks, sizeof *all);
    struct csv *csv = lab_table(lab, "traffic.csv");
    for (enum way way = GATHER; way < WAYS; way++) {
        p2p_traffic(hands[way].p2p);
        sum_by_hand(&hands[way], data, count);
        struct traffic mine = p2p_traffic(hands[way].p2p);
        world_gather(lab_world(lab), &mine, sizeof mine, all);
        for (int rank = 0; csv && rank < ranks; rank++) {
            const struct traffic formula = methods[way].sends(rank, ranks, (double)(count * sizeof *data));
            do {
                csv_text(csv, "algorithm", methods[way].name);
                csv_integer(csv, "rank", rank);
                csv_integer(csv, "sum_bytes", (long)(count * sizeof *data));
                csv_number(csv, "sent_bytes", all[rank].sent_bytes);
                csv_number(csv, "formula_sent_bytes", formula.sent_bytes);
                csv_integer(csv, "sent_messages", all[rank].sent_messages);
                csv_integer(csv, "formula_sent_messages", formula.sent_messages);
                csv_number(csv, "received_bytes", all[rank].received_bytes);
                csv_integer(csv, "received_messages", all[rank].received_messages);
            } while (csv_end_row(csv));
        }
    }
    free(all);
}

/* Return the size from which the ring is quicker, given times at growing sizes. Between two sizes, times are alpha + beta x bytes.
 * NaN if the ring is not quicker at the largest size. */
static double find_crossover(const double *bytes, const double *with_doubling, const double *with_ring, int sizes)
{
    int last = sizes - 1; /* largest size at which doubling is not slower */
    while (last >= 0 && with_ring[last] < with_doubling[last])
        last--;
    if (last < 0 || last == sizes - 1)
        return last < 0 ? bytes[0] : (double)NAN;
    double longer = with_ring[last] - with_doubling[last], shorter = with_doubling[last + 1] - with_ring[last + 1];
    return bytes[last] + (bytes[last + 1] - bytes[last]) * longer / (longer + shorter);
}

static double predict_crossover(const struct card *card, int ranks)
{
    enum { DOUBLINGS = 28, STEPS = 8, SIZES = DOUBLINGS * STEPS + 1 }; /* 4 B to 1 GiB */
    double bytes[SIZES], with_doubling[SIZES], with_ring[SIZES];
    for (int i = 0; i < SIZES; i++) {
        bytes[i] = sizeof(float) * exp2((double)i / STEPS);
        with_doubling[i] = doubling_seconds(card, ranks, bytes[i]);
        with_ring[i] = ring_seconds(card, ranks, bytes[i]);
    }
    return find_crossover(bytes, with_doubling, with_ring, SIZES);
}

static char *size_word(double bytes)
{
    if (isnan(bytes))
        return memory_text("no size");
    return bytes < 1e6 ? memory_text("%.3g kB", bytes / 1e3) : memory_text("%.3g MB", bytes / 1e6);
}

static void write_crossover(struct csv *csv, int ranks, double predicted, double found)
{
    do {
        csv_integer(csv, "ranks", ranks);
        csv_number(csv, "predicted_bytes", predicted);
        csv_number(csv, "found_bytes", found);
    } while (csv_end_row(csv));
    char *as_predicted = size_word(predicted), *in_sweep = size_word(found);
    printf("The ring is predicted to be faster than doubling from %s on; in the sweep it is from %s on.\n",
           as_predicted, in_sweep);
    free(as_predicted);
    free(in_sweep);
}

/* Write sweep.csv, every way at every size, and crossover.csv. */
static void sweep_ways(struct lab *lab, const struct options *o, struct hands *hands)
{
    double bytes[SWEEP_SIZES_MOST], seconds[WAYS][SWEEP_SIZES_MOST] = { 0 }, all[WAYS * SWEEP_SIZES_MOST];
    struct sweep_impl ways[WAYS];
    for (enum way way = 0; way < WAYS; way++)
        ways[way] = (struct sweep_impl){ way_of(way), &hands[way] };
    int ranks = o->run.ranks, sizes = sweep_sizes(lab_world(lab), sweep_bytes(o), bytes);
    sweep_measure(lab_world(lab),
                  &(struct sweep){ .bytes = bytes,
                                   .sizes = sizes,
                                   .way = ways,
                                   .ways = WAYS,
                                   .until_last = true,
                                   .warmups = 1,
                                   .repeats = o->run.quick || o->run.takes_turns ? 3 : 9 },
                  all, NULL);
    struct csv *csv = lab_table(lab, "sweep.csv"), *crossover = lab_table(lab, "crossover.csv");
    for (int i = 0; csv && i < sizes; i++)
        do {
            csv_integer(csv, "ranks", ranks);
            csv_number(csv, "bytes", bytes[i]);
            for (enum way way = 0; way < WAYS; way++) {
                char name[40];
                seconds[way][i] = all[way * (unsigned)sizes + (unsigned)i];
                snprintf(name, sizeof name, "%s_ms", methods[way].name);
                csv_ms(csv, name, seconds[way][i]);
                snprintf(name, sizeof name, "%s_predicted_ms", methods[way].name);
                csv_ms(csv, name, methods[way].seconds(lab_card(lab), ranks, bytes[i]));
            }
        } while (csv_end_row(csv));
    if (crossover)
        write_crossover(crossover, ranks, predict_crossover(lab_card(lab), ranks),
                        find_crossover(bytes, seconds[DOUBLING], seconds[RING], sizes));
}

int main(int argc, char **argv)
{
    struct options base = { .run = run_published, .sweep_mb = 16 };
    struct lab *lab = lab_open(&spec, &base, argc, argv);
    int rank = world_rank(lab_world(lab));
    struct trainer t = trainer_open(&base.run, base.run.batch_size);
    float *gradients = mlp_gradients(t.model); /* own gradients; after the all-reduce, the sum over ranks */
    struct p2p *p2p = p2p_open(lab_world(lab));
    float *scratch = device_new((size_t)scratch_bytes(&base), 1);
    struct hands hands[WAYS];
    for (enum way way = 0; way < WAYS; way++)
        hands[way] = (struct hands){ methods[way].sum, p2p, scratch };

    struct options o;
    while (lab_next_block(lab, &o)) { /* rounds x variants; o = base settings + the variant's change */
        struct collective *collective = lab_collective(lab);
        collective_sum_by(collective, way_of(o.way), &hands[o.way]); /* <- which way to add */
        trainer_restart(&t, share_even(&o.run, rank), 0, 1.0f / (float)run_global_batch(&o.run));

        while (lab_next_step(lab)) {
            lab_phase(lab, SPAN_DATA);
            const struct batch *batch = loader_next(t.loader, (struct stall){ STALL_NONE, 0 });
            lab_phase(lab, SPAN_FORWARD);
            mlp_forward(t.model, batch);
            lab_phase(lab, SPAN_BACKWARD);
            for (int layer = MLP_LAYERS; layer-- > 0;)
                mlp_backward(t.model, batch, layer);
            collective_sum(collective, WIRE_F32, gradients, gradients, t.count); /* <- where all ranks meet */
            lab_phase(lab, SPAN_UPDATE);
            adamw_update(t.optimizer, mlp_parameters(t.model), gradients);
        }
        lab_judge(lab, mlp_loss(t.model, 1), o.run.batch_size, mlp_parameters(t.model), t.count);
    }
    if (sweep_bytes(&base) > 0) {
        count_traffic(lab, hands, gradients, t.count);
        sweep_ways(lab, &base, hands);
    }

    device_free(scratch);
    p2p_close(p2p);
    trainer_close(&t);
    return lab_close(lab);
}
