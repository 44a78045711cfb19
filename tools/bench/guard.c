#include "guard.h"

#include "base/interference.h"
#include "world/world.h"

#include <math.h>
#include <sched.h>
#include <sys/resource.h>

/* Seconds since an arbitrary time; stolen, busy and own are summed over CPUs. */
struct counters {
    double wall, stolen, busy, own, queued;
};

static double seconds_of(int who)
{
    struct rusage used = { 0 };
    getrusage(who, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static int cpus(void)
{
    cpu_set_t mask;
    CPU_ZERO(&mask);
    return sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : 1;
}

static struct counters read_counters(const struct guard *guard)
{
    return (struct counters){ .wall = world_wall(),
                              .stolen = cpus() * interference_steal_time(guard->root),
                              .busy = cpus() * interference_busy_time(guard->root),
                              .own = seconds_of(RUSAGE_SELF) + seconds_of(RUSAGE_CHILDREN) +
                                     (guard->living ? *guard->living : 0),
                              .queued = interference_pressure_time(guard->root) };
}

/* Return the share that others took of the CPUs which the ranks fill. Without pressure/cpu all of the others' time counts. */
static double taken(const struct guard *guard, const struct counters *before)
{
    const struct counters after = read_counters(guard);
    double time = (after.wall - before->wall) * fmin(guard->ranks, cpus());
    double others = fmax(0, after.busy - before->busy - (after.own - before->own)) / time;
    double queued = (after.queued - before->queued) / (after.wall - before->wall); /* fmin() ignores a NaN */
    return (after.stolen - before->stolen) / time + fmin(others, queued);
}

bool guard_run(const struct guard *guard, bool (*start)(void *argument), void *argument)
{
    bool is_disturbed = true;
    for (int i = 0; i <= GUARD_REPEATS && is_disturbed; i++) {
        const struct counters before = read_counters(guard);
        if (!start(argument))
            return false;
        is_disturbed = interference_is_significant(taken(guard, &before));
    }
    return is_disturbed;
}
