/* schedule: which case runs when. Rounds go over all cases in an order that is drawn anew for each round, so that a
 * slow moment of the machine does not always meet the same case; rounds are added while the budget lasts. */
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
    double began, round_began;  /* the person's time */
    double told;                /* of the last line, since the beginning */
};

void schedule_begin(struct schedule *schedule, const struct run *run, const struct cases *cases);

/* all: moves on to the next case and returns it; -1 when all rounds are done. Rank 0's clock decides for all whether
 * another round fits. */
int schedule_next(struct schedule *schedule, struct world *world);

/* The case that runs. */
int schedule_case(const struct schedule *schedule);

/* One line on standard error: what runs, how many are left, elapsed and expected time; redrawn on a live terminal, else
 * a line per round, where these take a while. `name` is the case's, `lab` heads the line. */
void schedule_show(struct schedule *schedule, const char *lab, const char *name, struct terminal terminal);

#endif
