/* crews: the first ranks of the world, as many as a case has, run its blocks together while the others are parked. */
#ifndef LOCKSTEP_CREWS_H
#define LOCKSTEP_CREWS_H

#include "cases.h"
#include "collective.h"
#include "spans.h"
#include "world.h"

enum { CREWS_MOST = 8 };

struct crew {
    int ranks;
    struct world *world; /* NULL on the parked */
    struct collective *collective;
};

struct crews {
    int count;
    struct crew crew[CREWS_MOST];
};

/* all: a crew for every world size among the cases; their collectives are recorded in `spans`. */
void crews_open(struct crews *crews, struct world *world, const struct cases *cases, struct spans *spans);
void crews_close(struct crews *crews);

const struct crew *crews_find(const struct crews *crews, int ranks);

#endif
