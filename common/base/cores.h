/* cores: number of cores this process may use. */
#ifndef LOCKSTEP_CORES_H
#define LOCKSTEP_CORES_H

#include <sched.h>

/* Physical cores in `mask`, or the CPU quota of this control group (rounded down, at least 1) if that is smaller. */
int cores_usable(const cpu_set_t *mask);

/* Cores usable under the affinity mask of this process. */
int cores_here(void);

/* Copy the CPU model name from /proc/cpuinfo into `name`. */
void cores_name(char *name, int size);

#endif
