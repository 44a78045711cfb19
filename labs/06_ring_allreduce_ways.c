/* 06_ring_allreduce_ways: three all-reduces of lab 06 by messages and additions. */
#include "06_ring_allreduce.h"

#include <math.h>
#include <stdlib.h>

/* Sum on rank 0, which sends the result to all ranks. So all have the same bits. */
void sum_by_gather(struct p2p *p2p, float *data, size_t count, float *scratch)
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

int power_of_two(int ranks)
{
    int power = 1;
    while (2 * power <= ranks)
        power *= 2;
    return power;
}

/* Sum by exchanges with partners. Before an exchange, the ranks of a group hold equal sums, and their partners are another group.
 * own + received has the same bits as received + own, so both groups hold equal sums afterwards. Ranks beyond a
 * power of two send their terms to a rank that takes part, and receive the sum from it. */
void sum_by_doubling(struct p2p *p2p, float *data, size_t count, float *scratch)
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

/* Sum round a ring. In the reduce-scatter each part goes round, and every rank but its first adds its own terms; rank i then has
 * the whole sum of part i + 1. In the all-gather the sums go round. Each sum is finished on one rank, so all have the same bits. */
void sum_by_ring(struct p2p *p2p, float *data, size_t count, float *scratch)
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

void sum_by_hand(void *argument, float *data, size_t count)
{
    const struct by_hand *h = argument;
    h->sum(h->p2p, data, count, h->scratch);
}

double by_hand_bytes(const struct options *o)
{
    return fmax(workload_gradient_bytes(&o->model), sweep_bytes(o));
}

struct by_hand *by_hand_open(struct world *world, const struct options *o)
{
    struct by_hand *by_hand = memory_new(WAYS, sizeof *by_hand);
    struct p2p *p2p = p2p_open(world);
    float *scratch = device_new(MEMORY_COMMUNICATION, (size_t)by_hand_bytes(o), 1);
    for (enum way way = 0; way < WAYS; way++)
        by_hand[way] = (struct by_hand){ methods[way].sum, p2p, scratch };
    return by_hand;
}

void by_hand_close(struct by_hand *by_hand)
{
    device_free(by_hand->scratch);
    p2p_close(by_hand->p2p);
    free(by_hand);
}

allreduce_impl *implementation_of(enum way way)
{
    return methods[way].sum ? sum_by_hand : NULL;
}
