/* rank_watch: wakes the supervisor as soon as a rank's process ends. After one rank died mpirun kills the others, and the
 * supervisor has to name the first. */
#ifndef LOCKSTEP_RANK_WATCH_H
#define LOCKSTEP_RANK_WATCH_H

#include "board.h"

#include <signal.h>

struct rank_watch;

/* Watches the processes of `ranks` ranks, as each one writes itself on the board (board.h), and for these signals, which must be
 * blocked. */
struct rank_watch *rank_watch_open(struct board *board, int ranks, const sigset_t *signals);
void rank_watch_close(struct rank_watch *watch);

/* Waits until a signal comes, a rank ends, or a second has passed. Tells the board of each rank that ended. Returns the signal,
 * 0 for none. */
int rank_watch_wait(struct rank_watch *watch);

#endif
