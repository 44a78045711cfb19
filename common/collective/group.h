/* group: the ranks of a collective, and their engine. For the files that implement collective.h only. */
#ifndef LOCKSTEP_GROUP_H
#define LOCKSTEP_GROUP_H

#include "collective/engine.h"

struct group {
    int number; /* 0: all ranks of the collective's world */
    int rank, ranks;
    int *member;      /* (ranks) ranks of the collective's world */
    uint64_t members; /* the first 64 of these as bits */
    struct world *world;
    struct engine *engine;
    int sequence;  /* of the next operation */
    size_t checks; /* so far */
};

#endif
