/* crews: the first ranks of the world, as many as a case has, run its blocks together while the others are parked. */
#ifndef LOCKSTEP_CREWS_H
#define LOCKSTEP_CREWS_H

#include "collective/collective.h"
#include "collective/spans.h"
#include "frame/cases.h"
#include "world/world.h"

enum { CREWS_MOST = 8 };

struct process_group {
    int ranks;
    struct world *world; /* NULL on the parked */
    struct collective *collective;
};

struct process_groups {
    int count;
    struct process_group group[CREWS_MOST];
};

/* all: a crew for every world size among the cases; their collectives are recorded in `spans`. */
void process_groups_open(struct process_groups *groups, struct world *world, const struct cases *cases,
                         struct spans *spans);
void process_groups_close(struct process_groups *groups);

const struct process_group *process_groups_find(const struct process_groups *groups, int ranks);

#endif
