/* 06_ring_allreduce_formula: what each way of lab 06 must cost, and why: T(M, n) of M bytes among n ranks, and what a rank sends.
 *
 *     gather      rank 0 receives n - 1 messages, adds each, and sends n - 1   (n - 1) × (2 send(M) + add(M))
 *     doubling    log2 n exchanges of all, an addition after each              log2 n × (exchange(M) + add(M)), to what was just sent
 *                 ranks beyond a power of two send first and receive last      + 2 send(M) + add(M)
 *     ring        n-th parts, round once to be added, once whole               2 (n - 1) exchange(M / n) + (n - 1) add(M / n)
 *
 * send(M), exchange(M): a message of M bytes one way, and both ways at once; add(M): adding M bytes. The machine card measured them.
 * Letters: notebooks-md/symbols.md.
 *
 * Between two steps a rank's gradients have left the caches, as far as backward computed others since, so the card's costs far from the
 * caches count. Some ranks have the sum before the last one does; they wait for it in the next collective. */
#include "06_ring_allreduce.h"

#include <math.h>

static const struct message_cost *cost_of(const struct card *card, enum gradients gradients)
{
    return gradients == OF_A_STEP ? &card->p2p.far : &card->p2p.near;
}

/* Seconds until the last rank has the sum of `bytes`. All links are taken to cost what the card measured between two ranks. */
static double gather_seconds(const struct card *card, int ranks, double bytes, enum gradients gradients)
{
    const struct message_cost *cost = cost_of(card, gradients);
    return (ranks - 1) * (2 * alpha_beta_seconds(&cost->send, bytes) + alpha_beta_seconds(&cost->add, bytes));
}

static double doubling_seconds(const struct card *card, int ranks, double bytes, enum gradients gradients)
{
    const struct message_cost *cost = cost_of(card, gradients);
    int power = power_of_two(ranks);
    double seconds = 0;
    for (int distance = 1; distance < power; distance *= 2)
        seconds += alpha_beta_seconds(&cost->exchange, bytes) + alpha_beta_seconds(&cost->add_sent, bytes);
    if (power < ranks)
        seconds += 2 * alpha_beta_seconds(&cost->send, bytes) + alpha_beta_seconds(&cost->add, bytes);
    return seconds;
}

static double ring_seconds(const struct card *card, int ranks, double bytes, enum gradients gradients)
{
    const struct message_cost *cost = cost_of(card, gradients);
    double part = fmax(bytes / ranks, sizeof(float));
    return (ranks - 1) * (2 * alpha_beta_seconds(&cost->exchange, part) + alpha_beta_seconds(&cost->add, part));
}

static double library_seconds(const struct card *card, int ranks, double bytes, enum gradients gradients)
{
    (void)gradients;
    return card_allreduce(card, ranks, bytes);
}

/* Seconds by which the mean rank has the sum before the last one. Rank 0 sends it to one rank after another. */
static double gather_early(const struct card *card, int ranks, double bytes)
{
    return (ranks - 1) * (ranks - 2) / (2.0 * ranks) * alpha_beta_seconds(&card->p2p.far.send, bytes);
}

/* Ranks beyond a power of two get it last, from as many others. */
static double doubling_early(const struct card *card, int ranks, double bytes)
{
    const int power = power_of_two(ranks);
    return power < ranks ? (2.0 * power - ranks) / ranks * alpha_beta_seconds(&card->p2p.far.send, bytes) : 0;
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

const struct method methods[WAYS] = {
    [LIBRARY] = { "library", NULL, library_seconds, NULL, NULL },
    [GATHER] = { "gather", sum_by_gather, gather_seconds, gather_early, gather_sends },
    [DOUBLING] = { "doubling", sum_by_doubling, doubling_seconds, doubling_early, doubling_sends },
    [RING] = { "ring", sum_by_ring, ring_seconds, NULL, ring_sends },
};

struct prediction predict(const struct options *o, const struct card *card)
{
    int ranks = o->run.ranks;
    struct load load = predict_load(card, ranks, workload_usual(&o->model, &o->run));
    const struct method *method = &methods[o->way];
    const double bytes = workload_gradient_bytes(&o->model), transfer = method->seconds(card, ranks, bytes, OF_A_STEP);
    struct prediction p = predict_alike(card, load, ranks, card_jitter(card, ranks, load.cpu), transfer);
    if (method->early)
        predict_early(&p, method->early(card, ranks, bytes));
    return p;
}

double find_crossover(const double *bytes, const double *with_doubling, const double *with_ring, int sizes)
{
    int last = sizes - 1; /* largest size at which doubling is not slower */
    while (last >= 0 && with_ring[last] < with_doubling[last])
        last--;
    if (last < 0 || last == sizes - 1)
        return last < 0 ? bytes[0] : (double)NAN;
    double longer = with_ring[last] - with_doubling[last], shorter = with_doubling[last + 1] - with_ring[last + 1];
    return bytes[last] + (bytes[last + 1] - bytes[last]) * longer / (longer + shorter);
}

double predict_crossover(const struct card *card, int ranks)
{
    enum { DOUBLINGS = 28, STEPS = 8, SIZES = DOUBLINGS * STEPS + 1 }; /* 4 B to 1 GiB */
    double bytes[SIZES], with_doubling[SIZES], with_ring[SIZES];
    for (int i = 0; i < SIZES; i++) {
        bytes[i] = sizeof(float) * exp2((double)i / STEPS);
        with_doubling[i] = doubling_seconds(card, ranks, bytes[i], BY_THEMSELVES);
        with_ring[i] = ring_seconds(card, ranks, bytes[i], BY_THEMSELVES);
    }
    return find_crossover(bytes, with_doubling, with_ring, SIZES);
}
