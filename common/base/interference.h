/* interference: time in which other programs or the virtual machine's host used a rank's core. Times measured meanwhile grow by
 * that much, and by the cache misses afterwards. */
#ifndef LOCKSTEP_INTERFERENCE_H
#define LOCKSTEP_INTERFERENCE_H

#include <stdbool.h>

/* Seconds since an arbitrary time, so only differences count; 0 if the kernel does not report them (proc(5): schedstat, stat).
 * Run-queue delay: another thread ran while this one was ready. Steal time: the host of this virtual machine had a CPU,
 * averaged over the CPUs that this process may use; `root` is "", or a folder that holds another machine's proc/. */
double interference_run_queue_delay(void);
double interference_steal_time(const char *root);

/* Steal time, read at time `now` of world_wall(); and steal time since a first reading as a share of the time since then. */
struct steal_reading {
    double stolen, at;
};
struct steal_reading interference_read_steal(const char *root, double now);
double interference_steal_share(const char *root, struct steal_reading first, double now);

/* Seconds, from an arbitrary time, in which this thread was ready and threads of other programs ran instead: its run-queue delay
 * without the processor time of this process's own other threads, which may have run meanwhile. */
double interference_by_others(void);
/* Seconds in which all processes of this machine used a CPU, averaged over the CPUs that this process may use; includes interrupts.
 * And seconds in which some thread of this machine was ready and had no CPU; NaN if the kernel does not report them (proc(5):
 * pressure/cpu). `root` as above. */
double interference_busy_time(const char *root);
double interference_pressure_time(const char *root);

/* True if losing this share of the time is enough to show in measurements; false for NaN. */
bool interference_is_significant(double share);

#endif
