#include "base/interference.h"

#include <sched.h>
#include <stdio.h>
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

double interference_steal_time(void)
{
    cpu_set_t mask;
    CPU_ZERO(&mask);
    FILE *file = sched_getaffinity(0, sizeof mask, &mask) == 0 ? fopen("/proc/stat", "r") : NULL;
    char line[1024];
    double ticks = 0;
    int cpus = 0;
    while (file && fgets(line, sizeof line, file)) {
        size_t cpu = 0;
        unsigned long long steal = 0; /* the eighth number of a CPU */
        int read = sscanf(line, "cpu%zu %*u %*u %*u %*u %*u %*u %*u %llu", &cpu, &steal);
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
    static const double harmless = 0.05;
    return share >= harmless;
}
