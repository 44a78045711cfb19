#include "base/interference.h"

#include "base/memory.h"

#include <ctype.h>
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

double interference_steal_time(const char *root)
{
    cpu_set_t mask;
    CPU_ZERO(&mask);
    char *path = memory_text("%s/proc/stat", root);
    FILE *file = sched_getaffinity(0, sizeof mask, &mask) == 0 ? fopen(path, "r") : NULL;
    free(path);
    char line[1024];
    double ticks = 0;
    int cpus = 0;
    while (file && fgets(line, sizeof line, file)) {
        size_t cpu = 0;
        unsigned long long steal = 0; /* the eighth number of a CPU's line */
        bool is_one_cpu = strncmp(line, "cpu", 3) == 0 && isdigit((unsigned char)line[3]); /* "cpu " is their sum */
        int read = !is_one_cpu ? 0 : sscanf(line, "cpu%zu %*u %*u %*u %*u %*u %*u %*u %llu", &cpu, &steal);
        if (read == 2 && cpu < CPU_SETSIZE && CPU_ISSET(cpu, &mask)) {
            ticks += (double)steal;
            cpus++;
        }
    }
    if (file)
        fclose(file);
    return cpus > 0 ? ticks / cpus / (double)sysconf(_SC_CLK_TCK) : 0;
}

bool interference_is_significant(double share)
{
    static const double threshold = 0.05;
    return share >= threshold;
}
