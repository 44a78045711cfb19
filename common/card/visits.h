/* visits: the laps of all ranks and shapes, turn by turn (laps.h), which of them count, and their times. A visit is one shape's part of
 * a turn. Other programs or the virtual machine's host disturb it if they have a rank's core for 5 % of its time.
 *
 * A slow moment of the machine hits a few visits, and tells nothing about their shapes. So the times of a shape are medians over its
 * visits, each divided by the pace of its turn: how long the turn's visits took, relative to the means of their shapes. Then one factor
 * for all shapes gives the means' level back to them, because means of steps are predicted. */
#ifndef LOCKSTEP_VISITS_H
#define LOCKSTEP_VISITS_H

#include "card/card.h"
#include "model/shape_bench.h"

#include <stdbool.h>

/* A visit of a rank. Steal is counted in ticks, so it is of the whole turn. All in seconds. */
struct visit {
    struct local_times mean; /* lap */
    double last;             /* lap, whole */
    double queued, took;     /* run-queue delay in the visit, and its time; 0: the turn left this shape out */
    double turn_stolen, turn_took;
};

struct visits {
    int ranks, shapes;
    int planned, most, turns; /* turns: planned, at most, taken */
    struct visit *at;         /* (turns, ranks, shapes) */
};
enum { VISITS_TIMES = 2 };

/* Times over the laps of all ranks, by shape. */
struct lap_times {
    struct work work[SHAPES_MOST + 1];
    struct local_times mean[SHAPES_MOST + 1];
    double jitter;     /* mean over visits' last laps of (slowest rank - mean rank) / mean rank */
    bool is_disturbed; /* a shape has fewer undisturbed visits than planned */
};

/* Open visits for at most VISITS_TIMES x `planned` turns. Close them. */
struct visits visits_open(int ranks, int shapes, int planned);
void visits_close(struct visits *visits);

/* True if a shape has fewer visits than planned, or fewer undisturbed ones and turns are left. */
bool visits_lack(const struct visits *visits, int shape);

/* Write the times over each shape's undisturbed visits; or, if these are fewer than planned, over as many of the least disturbed. */
void visits_average(const struct visits *visits, struct lap_times *times);

#endif
