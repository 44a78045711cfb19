/* clocks: what time it is on the first rank's host when a rank's own clock shows t.
 *
 * The ranks of one host share its monotonic clock; clocks of two hosts started at different times and do not run equally
 * fast. So before and after each block, and never inside what is timed, the first rank of each host answers a few dozen
 * questions of rank 0 for the time. Of these the one that came back soonest counts: its answer is of the middle of the
 * round trip, give or take half of it. In between the difference is taken to grow evenly. (So do Hoefler, Schneider and
 * Lumsdaine, "Accurately measuring collective operations at massive scale", 2008, after Cristian, 1989.)
 *
 * The error of a host is the larger one of the two halves, whatever the way there and back took of it, and half of what the
 * difference changed from one comparison to the other: a clock that drifted unevenly, but at any time between not at all and
 * twice its mean, is within that. One that is sped up and slowed down in between may be further off.
 */
#ifndef LOCKSTEP_CLOCKS_H
#define LOCKSTEP_CLOCKS_H

struct world;

/* At the moment `here`, in seconds of this host's clock, that of rank 0 showed `ahead` more, give or take `error`. */
struct comparison {
    double here, ahead, error;
};

struct clocks {
    struct comparison before, after;
    double disagree; /* on rank 0: by how much two hosts' times, so brought together, may differ; 0 for one host */
};

/* all: the comparisons before and after a block. Among ranks of one host nothing is exchanged; else each host takes rank 0
 * so many round trips. */
enum { CLOCKS_ROUND_TRIPS = 40 };
void clocks_begin(struct clocks *clocks, struct world *world);
void clocks_end(struct clocks *clocks, struct world *world);

/* The first rank's time when this rank's clock shows `here`. */
double clocks_first(const struct clocks *clocks, double here);

/* Seconds by which that may be off between the two comparisons. */
double clocks_error(const struct clocks *clocks);

/* "agree within 0.045 ms; shorter waits count as transfer". Free it. */
char *clocks_text(double error);

#endif
