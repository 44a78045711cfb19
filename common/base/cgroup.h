/* group: what the control group of this process leaves of the machine, in a container above all. Both versions of control
 * groups are asked, and all groups above; a container sees its own one at the root. `root` is "", or a folder that holds
 * another machine's proc/ and sys/. */
#ifndef LOCKSTEP_GROUP_H
#define LOCKSTEP_GROUP_H

/* CPUs' worth of time per second; INFINITY without a limit. */
double cgroup_cpus(const char *root);

/* Bytes that could still be had: the limit less what is used, where pages of files do not count, as they can be given up.
 * INFINITY without a limit. */
double cgroup_memory(const char *root);

#endif
