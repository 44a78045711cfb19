#include "base/cgroup.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LINE_MOST = 2048 };

static FILE *open_in(const char *folder, const char *name)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    return length < (int)sizeof path ? fopen(path, "r") : NULL;
}

/* Read the first number of a file; INFINITY for "max" or a missing number. */
static double read_number(const char *folder, const char *name)
{
    FILE *file = open_in(folder, name);
    double number = INFINITY;
    if (file) {
        if (fscanf(file, "%lf", &number) != 1)
            number = INFINITY;
        fclose(file);
    }
    return number;
}

/* Add up the values of lines "inactive_file N" and "active_file N", with `prefix` before these names. */
static double file_pages(const char *folder, const char *prefix)
{
    FILE *file = open_in(folder, "memory.stat");
    char line[256], name[128];
    double sum = 0, bytes = 0;
    size_t length = strlen(prefix);
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "%127s %lf", name, &bytes) == 2 && strncmp(name, prefix, length) == 0 &&
            (strcmp(name + length, "inactive_file") == 0 || strcmp(name + length, "active_file") == 0))
            sum += bytes;
    if (file)
        fclose(file);
    return sum;
}

/* The functions up to memory_v1() return what one group leaves available, ignoring the groups above. */
static double cpus_v2(const char *folder)
{
    FILE *file = open_in(folder, "cpu.max");
    double quota = INFINITY, period = 0;
    bool is_limited = file && fscanf(file, "%lf %lf", &quota, &period) == 2 && quota > 0 && period > 0;
    if (file)
        fclose(file);
    return is_limited ? quota / period : INFINITY;
}

static double cpus_v1(const char *folder)
{
    double quota = read_number(folder, "cpu.cfs_quota_us"), period = read_number(folder, "cpu.cfs_period_us");
    return quota > 0 && period > 0 && isfinite(period) ? quota / period : INFINITY; /* -1: no quota */
}

static double memory_left(double limit, double used, double pages)
{
    double left = limit - used + pages;
    return limit > 1e18 || !isfinite(used) ? INFINITY /* version 1: a huge number means no limit */
           : left > limit                  ? limit
                                           : fmax(left, 0);
}

static double memory_v2(const char *folder)
{
    return memory_left(read_number(folder, "memory.max"), read_number(folder, "memory.current"),
                       file_pages(folder, ""));
}

static double memory_v1(const char *folder)
{
    return memory_left(read_number(folder, "memory.limit_in_bytes"), read_number(folder, "memory.usage_in_bytes"),
                       file_pages(folder, "total_"));
}

/* Return the least that the group `mount``path` and the groups above leave available. */
static double least_up_to_root(const char *mount, const char *path, double (*left)(const char *folder))
{
    char folder[PATH_MAX];
    int length = snprintf(folder, sizeof folder, "%s%s", mount, path);
    double least = length < (int)sizeof folder ? left(folder) : INFINITY;
    while (length < (int)sizeof folder && strlen(folder) > strlen(mount)) {
        *strrchr(folder, '/') = '\0';
        least = fmin(least, left(folder));
    }
    return fmin(least, left(mount));
}

/* True if `controller` is in a list such as "cpu,cpuacct". */
static bool is_listed(const char *list, const char *controller)
{
    size_t length = strlen(controller);
    for (; *list; list += strcspn(list, ",") + (list[strcspn(list, ",")] == ','))
        if (strcspn(list, ",") == length && strncmp(list, controller, length) == 0)
            return true;
    return false;
}

/* Read /proc/self/cgroup, with lines "0::PATH" (version 2) or "ID:CONTROLLERS:PATH" (version 1). Return the least of all groups. */
static double least_available(const char *root, const char *controller, double (*left_v2)(const char *folder),
                              double (*left_v1)(const char *folder))
{
    char own[PATH_MAX], mount_v2[PATH_MAX], mount_hybrid[PATH_MAX], mount_v1[PATH_MAX], line[LINE_MOST];
    snprintf(own, sizeof own, "%s/proc/self", root);
    snprintf(mount_v2, sizeof mount_v2, "%s/sys/fs/cgroup", root);
    snprintf(mount_hybrid, sizeof mount_hybrid, "%s/sys/fs/cgroup/unified", root); /* version 2 next to version 1 */
    snprintf(mount_v1, sizeof mount_v1, "%s/sys/fs/cgroup/%s", root, controller);
    FILE *list = open_in(own, "cgroup");
    double least = list ? INFINITY : fmin(left_v2(mount_v2), left_v1(mount_v1));
    while (list && fgets(line, sizeof line, list)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = '\0';
        path = strcmp(path, "/") == 0 ? path + 1 : path;
        if (strcmp(line, "0:") == 0)
            least = fmin(
                least, fmin(least_up_to_root(mount_v2, path, left_v2), least_up_to_root(mount_hybrid, path, left_v2)));
        else if (is_listed(controllers + 1, controller))
            least = fmin(least, least_up_to_root(mount_v1, path, left_v1));
    }
    if (list)
        fclose(list);
    return least;
}

double cgroup_cpus(const char *root)
{
    return least_available(root, "cpu", cpus_v2, cpus_v1);
}

double cgroup_memory(const char *root)
{
    return least_available(root, "memory", memory_v2, memory_v1);
}
