#include "base/cores.h"

#include "base/cgroup.h"

#include <stdio.h>
#include <string.h>

/* Number of the first hardware thread on the core of `cpu`; all threads of a core share this number. */
static size_t first_sibling(size_t cpu)
{
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%zu/topology/thread_siblings_list", cpu);
    FILE *file = fopen(path, "r");
    size_t first = cpu;
    if (file) {
        if (fscanf(file, "%zu", &first) != 1 || first >= CPU_SETSIZE)
            first = cpu;
        fclose(file);
    }
    return first;
}

static int physical_cores(const cpu_set_t *mask)
{
    cpu_set_t seen;
    CPU_ZERO(&seen);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, mask))
            CPU_SET(first_sibling(cpu), &seen);
    return CPU_COUNT(&seen);
}

int cores_usable(const cpu_set_t *mask)
{
    int cores = physical_cores(mask);
    double quota = cgroup_cpus("");
    if (quota < cores)
        cores = quota < 1 ? 1 : (int)quota;
    return cores > 0 ? cores : 1;
}

int cores_here(void)
{
    cpu_set_t mask;
    CPU_ZERO(&mask);
    if (sched_getaffinity(0, sizeof mask, &mask) != 0)
        CPU_SET(0, &mask);
    return cores_usable(&mask);
}

void cores_name(char *name, int size)
{
    snprintf(name, (size_t)size, "unknown CPU");
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':')) {
            snprintf(name, (size_t)size, "%s", strchr(line, ':') + 2);
            name[strcspn(name, "\n")] = '\0';
            break;
        }
    if (file)
        fclose(file);
}
