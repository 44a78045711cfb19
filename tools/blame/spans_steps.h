/* spans_steps: which steps of a round count. For spans_block.c, which lays the round out by rank before. */
#ifndef LOCKSTEP_SPANS_STEPS_H
#define LOCKSTEP_SPANS_STEPS_H

#include "spans_parts.h"

/* The rows of one rank, and of them its collectives. */
struct spans_lane {
    int rank;
    struct spans_row *rows; /* (count) in the order of time */
    int count;
    struct spans_row **meeting; /* (meetings) */
    int meetings;
};

/* Those of all ranks in one round of a case, which have the same steps. */
struct spans_lanes {
    const struct spans_file *file;
    const char *name;
    int round, ranks;
    struct spans_lane *lanes; /* (ranks) */
    int first_step, last_step;
};

/* Of `made` sets every, and first_step and steps of its timeline: without the warm-up that is wished for or that the column
 * `measured` tells, whole cycles, each ending with a step in which ranks meet. A round with nothing left ends the program
 * with STATUS_USAGE. */
void spans_steps_settle(const struct spans_lanes *lanes, const struct spans_wishes *wishes, bool has_measured,
                        struct spans_block *made);

#endif
