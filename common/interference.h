/* interference: how long others kept a rank from the core on which it would have computed. What was measured meanwhile took
 * longer by as much, and by what they left in the caches. */
#ifndef LOCKSTEP_INTERFERENCE_H
#define LOCKSTEP_INTERFERENCE_H

/* Seconds since some moment, so that differences count; 0 where the kernel does not tell (proc(5): schedstat and stat). */
double interference_queued(void); /* this thread was ready, and another one had its core */
double
interference_stolen(void); /* the host of this virtual machine had a CPU; mean of those that this process may use */

#endif
