/* handoff: what it costs a rank to take a batch that its helper has finished, and to let the helper begin the next one: a lock, and a
 * call of the kernel that wakes a sleeping thread. */
#ifndef LOCKSTEP_HANDOFF_H
#define LOCKSTEP_HANDOFF_H

struct async_helper;

/* Return the seconds by which handing over `calls` times delays a rank, per call. The rank computes for `rest` seconds in between; the
 * helper has nothing to do, but may share the rank's core. */
double handoff_measure(struct async_helper *helper, double rest, int calls);

#endif
