#include "cores.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The first CPU of the core that `cpu` belongs to; hyper-threads of one core share it. */
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

/* The folder of this process's control group in the unified hierarchy (version 2). */
static bool group_path(char *path, size_t size)
{
    FILE *file = fopen("/proc/self/cgroup", "r");
    if (!file)
        return false;
    char line[512];
    bool found = false;
    while (!found && fgets(line, sizeof line, file)) {
        found = strncmp(line, "0::", 3) == 0;
        if (found)
            snprintf(path, size, "%.*s", (int)strcspn(line + 3, "\n"), line + 3);
    }
    fclose(file);
    return found;
}

static double quota_of_file(const char *path)
{
    FILE *file = fopen(path, "r");
    double quota = 0, period = 0;
    if (file) {
        if (fscanf(file, "%lf %lf", &quota, &period) != 2) /* "max 100000" reads as no quota */
            quota = 0;
        fclose(file);
    }
    return quota > 0 && period > 0 ? quota / period : 0;
}

/* CPUs' worth of time per second that the control group allows; 0 when it sets no limit. A container sees its
 * own group at the root of the hierarchy, so both places are asked and the tighter answer holds. */
static double group_quota(void)
{
    char group[400] = "", path[512];
    double tightest = 0;
    for (int at_root = 0; at_root < 2; at_root++) {
        if (!at_root && !group_path(group, sizeof group))
            continue;
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", at_root ? "" : group);
        double quota = quota_of_file(path);
        if (quota > 0 && (tightest <= 0 || quota < tightest))
            tightest = quota;
    }
    return tightest;
}

int cores_usable(const cpu_set_t *mask)
{
    int cores = physical_cores(mask);
    double quota = group_quota();
    if (quota > 0 && quota < cores)
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
