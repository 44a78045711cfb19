/* collective_cost: seconds of collectives on this machine, by kind and group of ranks, over sizes. Part of the machine card. Real
 * ranks measure them by the clock; on a modelled machine the same code measures them by the virtual clock, so they come from its
 * platform file. */
#ifndef LOCKSTEP_COLLECTIVE_COST_H
#define LOCKSTEP_COLLECTIVE_COST_H

#include "base/check_failures.h"
#include "card/alpha_beta.h"
#include "card/collective_use.h"

#include <stdbool.h>

struct world;

/* `cost` is over the bytes of `count` elements (struct collective_op); a barrier has one point, at 0 bytes. */
struct collective_cost {
    enum collective_kind kind;
    struct card_group group;
    struct alpha_beta cost;
};

struct collective_costs {
    int count;
    struct collective_cost at[COLLECTIVE_USES_MOST];
};

/* Return an entry; NULL if there is none. */
const struct collective_cost *collective_costs_find(const struct collective_costs *costs, enum collective_kind kind,
                                                    struct card_group group);

/* Return an entry, made if it is missing; NULL if there is no room. */
struct collective_cost *collective_costs_add(struct collective_costs *costs, enum collective_kind kind,
                                             struct card_group group);

/* True if the entry of this use is there and its points reach the use's size. */
bool collective_costs_cover(const struct collective_costs *costs, const struct collective_use *use);

/* Setting of the measurement: the work of the ranks around the measured collectives. */
struct collective_setting {
    double gradient_bytes;           /* the sizes reach well beyond these */
    void (*prepare)(void *argument); /* runs on each rank of a group before the group's first call */
    void (*between)(void *argument); /* runs on each rank before each call; NULL: a barrier runs instead */
    void *argument;
    float *gradients; /* (gradient_bytes) that `between` writes; NULL: it writes none */
};

/* all: measure the entries of `uses` that `costs` does not cover. Their points and fits are on rank 0. The sizes that labs use, the
 * gradients and those of `uses`, are left out, because they are predicted. Return the failed checks of all ranks on rank 0. */
struct check_failures collective_costs_measure(struct collective_costs *costs, struct world *world,
                                               const struct card_uses *uses, const struct collective_setting *setting);

/* Return the bus bandwidth of an all-reduce, in bytes per second, as nccl-tests define it: what each rank must send over time. */
static inline double allreduce_bus_bandwidth(double ranks, double bytes, double seconds)
{
    return 2 * (ranks - 1) / ranks * bytes / seconds;
}

/* Return the most bytes of buffers that collective_costs_measure() opens on a rank, two for a message. Calls that fit into the gradients
 * need none. */
double collective_costs_memory(const struct card_uses *uses, double gradient_bytes);

#endif
