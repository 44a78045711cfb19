/* rank_watch: wakes the supervisor as soon as a rank's process ends. After one rank died mpirun kills the others, and the
 * supervisor has to name the first. */
#ifndef LOCKSTEP_RANK_WATCH_H
#define LOCKSTEP_RANK_WATCH_H

#include "launch/flight_recorder.h"

#include <signal.h>

struct rank_watch;

/* Watches the processes of `ranks` ranks, as each one writes itself on the board (flight_recorder.h), and for these signals, which must be
 * blocked. */
struct rank_watch *rank_exits_open(struct flight_recorder *recorder, int ranks, const sigset_t *signals);
void rank_exits_close(struct rank_watch *watch);

/* Waits until a signal comes, a rank ends, or a second has passed. Tells the board of each rank that ended. Returns the signal,
 * 0 for none. */
int rank_exits_wait(struct rank_watch *watch);

#endif
