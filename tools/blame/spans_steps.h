/* spans_steps: chooses the measured steps of a round. spans_block.c sorts the round by rank first. */
#ifndef LOCKSTEP_SPANS_STEPS_H
#define LOCKSTEP_SPANS_STEPS_H

#include "spans_parts.h"

/* The rows of one rank, and its collectives among them. */
struct spans_lane {
    int rank;
    struct spans_row *rows; /* (count) in time order */
    int count;
    struct spans_row **collective; /* (matched) its collectives */
    int matched;
};

/* The rows of all ranks in one round of a case. All ranks have the same steps. */
struct spans_lanes {
    const struct spans_file *file;
    const char *name;
    int round, ranks;
    struct spans_lane *lanes; /* (ranks) */
    int first_step, last_step;
};

/* Set `every`, and the timeline's first_step and steps, in `made`. Warm-up steps are left out, by option or by the column
 * `measured`. The rest is whole cycles, each ending with a step that has a collective. A round with no step left ends the
 * program with STATUS_USAGE. */
void spans_steps_settle(const struct spans_lanes *lanes, const struct spans_wishes *wishes, bool has_measured,
                        struct spans_block *made);

#endif
