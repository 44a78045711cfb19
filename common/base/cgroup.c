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

/* The first number of a file; INFINITY for "max", or when there is none. */
static double number_in(const char *folder, const char *name)
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

/* The sum of the lines "inactive_file N" and "active_file N" behind `prefix`. */
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

/* The next four tell what one group leaves by itself. */
static double cpus_2(const char *folder)
{
    FILE *file = open_in(folder, "cpu.max");
    double quota = INFINITY, period = 0;
    bool is_limited = file && fscanf(file, "%lf %lf", &quota, &period) == 2 && quota > 0 && period > 0;
    if (file)
        fclose(file);
    return is_limited ? quota / period : INFINITY;
}

static double cpus_1(const char *folder)
{
    double quota = number_in(folder, "cpu.cfs_quota_us"), period = number_in(folder, "cpu.cfs_period_us");
    return quota > 0 && period > 0 && isfinite(period) ? quota / period : INFINITY; /* -1 is no quota */
}

static double memory_left(double limit, double used, double pages)
{
    double left = limit - used + pages;
    return limit > 1e18 || !isfinite(used) ? INFINITY /* version 1 has such a number for no limit */
           : left > limit                  ? limit
                                           : fmax(left, 0);
}

static double memory_2(const char *folder)
{
    return memory_left(number_in(folder, "memory.max"), number_in(folder, "memory.current"), file_pages(folder, ""));
}

static double memory_1(const char *folder)
{
    return memory_left(number_in(folder, "memory.limit_in_bytes"), number_in(folder, "memory.usage_in_bytes"),
                       file_pages(folder, "total_"));
}

/* The tightest of the group `mount``path` and those above it. */
static double tightest(const char *mount, const char *path, double (*left)(const char *folder))
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

/* Whether `controller` is in the list "cpu,cpuacct". */
static bool is_listed(const char *list, const char *controller)
{
    size_t length = strlen(controller);
    for (; *list; list += strcspn(list, ",") + (list[strcspn(list, ",")] == ','))
        if (strcspn(list, ",") == length && strncmp(list, controller, length) == 0)
            return true;
    return false;
}

/* A line of /proc/self/cgroup is "0::PATH" of version 2, or "ID:CONTROLLERS:PATH" of version 1. */
static double least_of_all(const char *root, const char *controller, double (*of_2)(const char *folder),
                           double (*of_1)(const char *folder))
{
    char own[PATH_MAX], mount_2[PATH_MAX], mixed[PATH_MAX], mount_1[PATH_MAX], line[LINE_MOST];
    snprintf(own, sizeof own, "%s/proc/self", root);
    snprintf(mount_2, sizeof mount_2, "%s/sys/fs/cgroup", root);
    snprintf(mixed, sizeof mixed, "%s/sys/fs/cgroup/unified", root); /* beside version 1 */
    snprintf(mount_1, sizeof mount_1, "%s/sys/fs/cgroup/%s", root, controller);
    FILE *list = open_in(own, "cgroup");
    double least = list ? INFINITY : fmin(of_2(mount_2), of_1(mount_1));
    while (list && fgets(line, sizeof line, list)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = '\0';
        path = strcmp(path, "/") == 0 ? path + 1 : path;
        if (strcmp(line, "0:") == 0)
            least = fmin(least, fmin(tightest(mount_2, path, of_2), tightest(mixed, path, of_2)));
        else if (is_listed(controllers + 1, controller))
            least = fmin(least, tightest(mount_1, path, of_1));
    }
    if (list)
        fclose(list);
    return least;
}

double cgroup_cpus(const char *root)
{
    return least_of_all(root, "cpu", cpus_2, cpus_1);
}

double cgroup_memory(const char *root)
{
    return least_of_all(root, "memory", memory_2, memory_1);
}
