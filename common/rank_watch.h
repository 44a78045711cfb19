/* rank_watch: wakes the supervisor as soon as a rank's process ends. A launcher ends the others soon after: the rank that died
 * first is the one to name. */
#ifndef LOCKSTEP_RANK_WATCH_H
#define LOCKSTEP_RANK_WATCH_H

#include "board.h"

#include <signal.h>

struct rank_watch;

/* Watches the processes of so many ranks, as they come to the board, and for these signals, which must be blocked. */
struct rank_watch *rank_watch_open(struct board *board, int ranks, const sigset_t *signals);
void rank_watch_close(struct rank_watch *watch);

/* Waits until a signal comes, a rank ends, or a second has passed. Tells the board of each rank that ended. Returns the signal,
 * 0 for none. */
int rank_watch_wait(struct rank_watch *watch);

#endif
