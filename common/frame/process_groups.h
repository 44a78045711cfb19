/* process_groups: a group per world size. The first ranks of the world run a case's blocks while the others are parked. */
#ifndef LOCKSTEP_PROCESS_GROUPS_H
#define LOCKSTEP_PROCESS_GROUPS_H

#include "collective/collective.h"
#include "collective/spans.h"
#include "frame/cases.h"
#include "world/world.h"

enum { PROCESS_GROUPS_MOST = 8 };

struct process_group {
    int ranks;
    struct world *world; /* NULL on parked ranks */
    struct collective *collective;
};

struct process_groups {
    int count;
    struct process_group group[PROCESS_GROUPS_MOST];
};

/* all: open a group for every world size among the cases. Their collectives are recorded in `spans`. */
void process_groups_open(struct process_groups *groups, struct world *world, const struct cases *cases,
                         struct spans *spans);
void process_groups_close(struct process_groups *groups);

const struct process_group *process_groups_find(const struct process_groups *groups, int ranks);

#endif
