#include "base/interference.h"

#include "base/memory.h"

#include <ctype.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

double interference_run_queue_delay(void)
{
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    unsigned long long waited = 0; /* ns */
    if (file && fscanf(file, "%*u %llu", &waited) != 1)
        waited = 0;
    if (file)
        fclose(file);
    return 1e-9 * (double)waited;
}

/* Processor time of this process or thread (getrusage(2)). */
static double cpu_seconds(int whose)
{
    struct rusage used = { 0 };
    getrusage(whose, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

double interference_by_others(void)
{
    const double own_threads = cpu_seconds(RUSAGE_SELF) - cpu_seconds(RUSAGE_THREAD);
    return interference_run_queue_delay() - own_threads;
}

/* Seconds, averaged over the CPUs that this process may use. */
struct cpu_times {
    double busy, stolen;
};

/* Add one line of proc/stat. Return false if it is not that of a CPU in the mask; "cpu " is the sum of all. */
static bool add_cpu(struct cpu_times *ticks, const char *line, const cpu_set_t *mask)
{
    size_t cpu = 0;
    unsigned long long user, nice, system, irq, softirq, steal;
    if (strncmp(line, "cpu", 3) != 0 || !isdigit((unsigned char)line[3]) ||
        sscanf(line, "cpu%zu %llu %llu %llu %*u %*u %llu %llu %llu", &cpu, &user, &nice, &system, &irq, &softirq,
               &steal) != 7 ||
        cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, mask))
        return false;
    ticks->busy += (double)(user + nice + system + irq + softirq);
    ticks->stolen += (double)steal;
    return true;
}

static struct cpu_times read_cpu_times(const char *root)
{
    cpu_set_t mask;
    CPU_ZERO(&mask);
    char *path = memory_text("%s/proc/stat", root);
    FILE *file = sched_getaffinity(0, sizeof mask, &mask) == 0 ? fopen(path, "r") : NULL;
    free(path);
    char line[1024];
    struct cpu_times ticks = { 0 };
    int cpus = 0;
    while (file && fgets(line, sizeof line, file))
        cpus += add_cpu(&ticks, line, &mask);
    if (file)
        fclose(file);
    double all = fmax(1, cpus) * (double)sysconf(_SC_CLK_TCK);
    return (struct cpu_times){ ticks.busy / all, ticks.stolen / all };
}

double interference_steal_time(const char *root)
{
    return read_cpu_times(root).stolen;
}

struct steal_reading interference_read_steal(const char *root, double now)
{
    return (struct steal_reading){ .stolen = interference_steal_time(root), .at = now };
}

double interference_steal_share(const char *root, struct steal_reading first, double now)
{
    return fmax(0, interference_steal_time(root) - first.stolen) / (now - first.at);
}

double interference_busy_time(const char *root)
{
    return read_cpu_times(root).busy;
}

double interference_pressure_time(const char *root)
{
    char *path = memory_text("%s/proc/pressure/cpu", root);
    FILE *file = fopen(path, "r");
    free(path);
    unsigned long long total = 0; /* microseconds */
    bool is_read = file && fscanf(file, "some %*s %*s %*s total=%llu", &total) == 1;
    if (file)
        fclose(file);
    return is_read ? 1e-6 * (double)total : (double)NAN;
}

bool interference_is_significant(double share)
{
    static const double threshold = 0.05;
    return share >= threshold;
}
