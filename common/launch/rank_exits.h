/* rank_exits: wakes the supervisor as soon as a rank's process ends. After one rank has died mpirun kills the others, and the
 * supervisor has to report the first. */
#ifndef LOCKSTEP_RANK_EXITS_H
#define LOCKSTEP_RANK_EXITS_H

#include "launch/flight_recorder.h"

#include <signal.h>

struct rank_exits;

/* Watch the processes of `ranks` ranks, each as soon as its rank is in the flight recorder (flight_recorder.h). Watch for these
 * signals too, which must be blocked. */
struct rank_exits *rank_exits_open(struct flight_recorder *recorder, int ranks, const sigset_t *signals);
void rank_exits_close(struct rank_exits *watch);

/* Wait for a signal, the end of a rank, or one second. Record each rank that ended in the flight recorder. Return the signal,
 * 0 for none. */
int rank_exits_wait(struct rank_exits *watch);

#endif
