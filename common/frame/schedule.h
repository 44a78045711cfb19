/* schedule: decides which case runs when. Each round runs all cases in a new random order, so that a slow moment of the machine
 * does not always hit the same case. Rounds are added while the budget lasts. */
#ifndef LOCKSTEP_SCHEDULE_H
#define LOCKSTEP_SCHEDULE_H

#include "frame/cases.h"
#include "launch/job.h"

#include <stdint.h>

struct world;

struct schedule {
    const struct run *run;
    const struct cases *chosen;
    int cases;                  /* of this round */
    int round, turn;            /* turn: position in the order; -1 before a round's first case */
    uint32_t order[CASES_MOST]; /* (cases) of this round */
    double began, round_began;  /* seconds of world_wall() */
    double text;                /* time of the last progress line, since `began` */
};

void schedule_begin(struct schedule *schedule, const struct run *run, const struct cases *cases);

/* all: move on to the next case and return it; -1 after the last round. Rank 0's clock decides if another round fits. */
int schedule_next(struct schedule *schedule, struct world *world);

/* Return the current case. */
int schedule_case(const struct schedule *schedule);

/* Print a progress line on standard error: round, case, elapsed and expected time. A live terminal redraws the line; otherwise
 * there is a line per round, at least 2 s apart. `lab` begins the line, `name` is the case's. */
void schedule_show(struct schedule *schedule, const char *lab, const char *name, struct terminal terminal);

#endif
