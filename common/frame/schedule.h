/* schedule: decides which case runs when. Each round runs all cases in a new random order, so that a slow moment of the machine
 * does not always hit the same case. A block that other programs disturbed is repeated at the end of its round, when they may have
 * gone. Rounds are added while the budget lasts. */
#ifndef LOCKSTEP_SCHEDULE_H
#define LOCKSTEP_SCHEDULE_H

#include "frame/cases.h"
#include "launch/job.h"

#include <stdbool.h>
#include <stdint.h>

struct world;

enum { REPETITIONS_MOST = 2 }; /* of a block in its round */

struct schedule {
    const struct run *run;
    const struct cases *chosen;
    int blocks;      /* of this round, repetitions included */
    int round, turn; /* turn: position in the order; -1 before a round's first block */
    uint32_t order[(1 + REPETITIONS_MOST) * CASES_MOST]; /* (blocks) cases of this round */
    int repetitions[CASES_MOST];                         /* of each case in this round */
    double began, round_began;                           /* seconds of world_wall() */
    double text;                                         /* time of the last progress line, since `began` */
};

void schedule_begin(struct schedule *schedule, const struct run *run, const struct cases *cases);

/* all: move on to the next case and return it; -1 after the last round. Rank 0's clock decides if another round fits. */
int schedule_next(struct schedule *schedule, struct world *world);

/* all: run the current case once more in this round. Only if schedule_may_repeat(), which a quick run never does. */
void schedule_repeat(struct schedule *schedule);
bool schedule_may_repeat(const struct schedule *schedule);

/* Return the current case. */
int schedule_case(const struct schedule *schedule);

/* Print a progress line on standard error: round, case, elapsed and expected time. A live terminal redraws the line; otherwise
 * there is a line per round, at least 2 s apart. `lab` begins the line, `name` is the case's. */
void schedule_show(struct schedule *schedule, const char *lab, const char *name, struct terminal terminal);

#endif
