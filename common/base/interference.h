/* interference: how long others kept a rank from the core on which it would have computed. What was measured meanwhile took
 * longer by as much, and by what they left in the caches. */
#ifndef LOCKSTEP_INTERFERENCE_H
#define LOCKSTEP_INTERFERENCE_H

#include <stdbool.h>

/* Seconds since some moment, so that differences count; 0 where the kernel does not tell (proc(5): schedstat and stat). Of
 * the first another thread had the core for which this one was ready; of the second the host of this virtual machine had a
 * CPU, in the mean of those that this process may use. */
double interference_run_queue_delay(void);
double interference_steal_time(void);

/* Whether what was measured shows it that others had this share of the time; not for NaN. */
bool interference_is_significant(double share);

#endif
