/* clocks: converts times of a rank's clock to the clock of the first rank's host.
 *
 * Ranks of one host share its monotonic clock. Clocks of two hosts start at different times and run at different speeds. Before
 * and after each block, outside all timed sections, rank 0 asks the first rank of each host for the time, CLOCKS_ROUND_TRIPS
 * times. Only the shortest round trip counts. Its answer is assigned to the middle of the round trip, with half the round trip
 * as error. Between the two comparisons the offset is interpolated linearly. (Method: Hoefler, Schneider and Lumsdaine,
 * "Accurately measuring collective operations at massive scale", 2008, after Cristian, 1989.)
 *
 * The error of a host is the larger half round trip plus half the change of the offset between the comparisons. The half round
 * trip covers any split between the two directions. The half change covers uneven drift, as long as the drift stays between zero
 * and twice its mean. A clock that is sped up and slowed down in between may exceed this error.
 */
#ifndef LOCKSTEP_CLOCKS_H
#define LOCKSTEP_CLOCKS_H

struct world;

/* Offset of rank 0's clock: `ahead`, within `error`, when this host's clock showed `here`. All in seconds. */
struct comparison {
    double here, ahead, error;
};

struct clocks {
    struct comparison before, after;
    double disagree; /* on rank 0: largest possible difference between converted times of two hosts; 0 for one host */
};

/* all: compare the clocks before and after a block. Ranks on one host exchange nothing; otherwise rank 0 makes
 * CLOCKS_ROUND_TRIPS round trips with each host. */
enum { CLOCKS_ROUND_TRIPS = 40 };
void clocks_begin(struct clocks *clocks, struct world *world);
void clocks_end(struct clocks *clocks, struct world *world);

/* Return the first rank's time at the time `here` of this rank's clock. */
double clocks_first(const struct clocks *clocks, double here);

/* Return the error of clocks_first() between the two comparisons, in seconds. */
double clocks_error(const struct clocks *clocks);

/* Return the largest possible difference between converted times of two hosts, from each host's clocks_error(): the sum of the two
 * largest, because one may be too early and the other too late. */
double clocks_disagreement(const double *errors, int hosts);

/* Return "agree within 0.045 ms; shorter waits count as transfer". Free the text. */
char *clocks_text(double error);

#endif
