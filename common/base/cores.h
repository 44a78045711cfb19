/* cores: how many cores this process may really use. */
#ifndef LOCKSTEP_CORES_H
#define LOCKSTEP_CORES_H

#include <sched.h>

/* The smallest of: CPUs in `mask`, physical cores among them, the CPU quota of this control group (rounded
 * down, at least 1). */
int cores_usable(const cpu_set_t *mask);

/* The same for the mask this process runs under. */
int cores_here(void);

/* The CPU's name as the kernel gives it, into `name`. */
void cores_name(char *name, int size);

#endif
