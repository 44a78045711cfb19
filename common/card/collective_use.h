/* collective_use: the collectives that a lab uses, by kind, group of ranks and size. The machine card measures these and no others,
 * so that a lab pays only for what it uses. */
#ifndef LOCKSTEP_COLLECTIVE_USE_H
#define LOCKSTEP_COLLECTIVE_USE_H

#include "launch/collective_call.h"

#include <stdbool.h>

struct own_cost;

/* A group of ranks: 0, stride, 2 stride …, `ranks` of them. Together with the hosts, which are the same for all groups of a card,
 * this says which links a collective uses (card_group_hosts()). Eight ranks on two hosts of four:
 *
 *     { 8, 1 }          all ranks, across both hosts
 *     { 4, 1 }          the first host's ranks; the other ranks sleep
 *     { 2, 4 }          rank 0 and rank 4, one of each host; the other ranks sleep
 *     { 4, 1, true }    the ranks of each host, both hosts at once
 *     { 2, 4, true }    0 and 4, 1 and 5, 2 and 6, 3 and 7, at once: four groups that share the link between the hosts
 *
 * `with_siblings`: all groups of this shape run the collective at once, as in tensor parallelism or in an all-reduce that first
 * adds up within each host. They may share links, so this takes longer than one group alone and must be measured as it is used. */
struct card_group {
    int ranks, stride;
    bool with_siblings;
};

static inline struct card_group first_ranks(int ranks)
{
    return (struct card_group){ .ranks = ranks, .stride = 1 };
}

static inline bool card_group_equals(struct card_group a, struct card_group b)
{
    return a.ranks == b.ranks && a.stride == b.stride && a.with_siblings == b.with_siblings;
}

/* Return the number of a rank's group among the groups of this shape of `ranks` ranks; 0 is the group of rank 0. -1 if the rank is
 * in none, or in one that does not run. */
int card_group_of(struct card_group group, int rank, int ranks);

/* A collective that a lab uses. `bytes`: the largest size beyond that of the gradients, as those of `count` elements
 * (struct collective_op): of an all-gather and a reduce-scatter, one rank's part. 0: none is larger than the gradients. */
struct collective_use {
    enum collective_kind kind;
    struct card_group group;
    double bytes;
};

enum { COLLECTIVE_USES_MOST = 32 };

/* All that a lab uses. `messages`: point-to-point messages too (p2p_cost.h). `own`: costs that the lab defines itself (own_cost.h);
 * NULL: none. */
struct card_uses {
    int count;
    struct collective_use at[COLLECTIVE_USES_MOST];
    bool messages;
    const struct own_cost *own;
};

/* Add a use; of equal ones keep the largest size. A group of one rank needs no collective and is ignored. */
void card_use(struct card_uses *uses, enum collective_kind kind, struct card_group group, double bytes);

#endif
