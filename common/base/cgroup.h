/* cgroup: CPU and memory limits that control groups set for this process, mainly in containers. Both versions of control groups
 * are read, up to the topmost group; a container sees its own group at the root. `root` is "", or a folder with another
 * machine's proc/ and sys/. */
#ifndef LOCKSTEP_CGROUP_H
#define LOCKSTEP_CGROUP_H

/* CPUs available (CPU seconds per second); INFINITY without a limit. */
double cgroup_cpus(const char *root);

/* Bytes still available: the limit minus the memory in use. File pages do not count as used because the kernel can reclaim them.
 * INFINITY without a limit. */
double cgroup_memory(const char *root);

#endif
