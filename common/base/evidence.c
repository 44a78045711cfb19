#include "base/evidence.h"

#include "base/interference.h"
#include "base/memory.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

struct evidence_reader {
    int counter[EVIDENCE_COUNTERS]; /* file descriptors; -1 for none */
    int error;                      /* of the first that did not open; else 0 */
};

static const uint64_t events[EVIDENCE_COUNTERS] = { PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS,
                                                    PERF_COUNT_HW_CACHE_MISSES };

struct evidence_reader *evidence_open(void)
{
    struct evidence_reader *reader = memory_new(1, sizeof *reader);
    for (int i = 0; i < EVIDENCE_COUNTERS; i++) {
        struct perf_event_attr of = {
            .type = PERF_TYPE_HARDWARE, .size = sizeof of, .config = events[i], .exclude_kernel = 1, .exclude_hv = 1
        };
        reader->counter[i] = (int)syscall(SYS_perf_event_open, &of, 0, -1, -1, 0);
        if (reader->counter[i] < 0 && !reader->error)
            reader->error = errno;
    }
    return reader;
}

void evidence_close(struct evidence_reader *reader)
{
    for (int i = 0; i < EVIDENCE_COUNTERS; i++)
        if (reader->counter[i] >= 0)
            close(reader->counter[i]);
    free(reader);
}

const char *evidence_lacks(const struct evidence_reader *reader)
{
    return reader->error ? strerror(reader->error) : NULL;
}

static struct rusage usage_of(int whose)
{
    struct rusage used = { 0 };
    getrusage(whose, &used);
    return used;
}

static double cpu_seconds(const struct rusage *used)
{
    return (double)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) +
           1e-6 * (double)(used->ru_utime.tv_usec + used->ru_stime.tv_usec);
}

/* Set the bytes read, from /proc/self/io. */
static void read_io(struct evidence *e)
{
    FILE *file = fopen("/proc/self/io", "r");
    char name[32];
    double bytes;
    while (file && fscanf(file, "%31[^:]: %lf ", name, &bytes) == 2) {
        if (strcmp(name, "rchar") == 0)
            e->call_bytes = bytes;
        if (strcmp(name, "read_bytes") == 0)
            e->disk_bytes = bytes;
    }
    if (file)
        fclose(file);
}

struct evidence evidence_now(const struct evidence_reader *reader)
{
    const double run_queue = interference_run_queue_delay();
    /* The kernel brings this thread's account up to date for its process; alone, it lags behind by up to a tick. */
    const struct rusage process = usage_of(RUSAGE_SELF), thread = usage_of(RUSAGE_THREAD);
    struct evidence e = { .thread_cpu = cpu_seconds(&thread),
                          .process_cpu = cpu_seconds(&process),
                          .run_queue = run_queue,
                          .minor_faults = (double)process.ru_minflt,
                          .major_faults = (double)process.ru_majflt,
                          .disk_bytes = (double)NAN,
                          .call_bytes = (double)NAN };
    read_io(&e);
    for (int i = 0; i < EVIDENCE_COUNTERS; i++) {
        uint64_t count;
        const bool is_read = reader && reader->counter[i] >= 0 &&
                             read(reader->counter[i], &count, sizeof count) == (ssize_t)sizeof count;
        e.counter[i] = is_read ? (double)count : (double)NAN;
    }
    e.run_queue_after = interference_run_queue_delay();
    return e;
}

struct evidence evidence_since(const struct evidence *before, const struct evidence *now)
{
    const double thread = now->thread_cpu - before->thread_cpu;
    struct evidence e = {
        .thread_cpu = thread,
        /* The two accounts are read one after the other: on a busy machine there is time between them. */
        .process_cpu = fmax(now->process_cpu - before->process_cpu, thread),
        .run_queue = now->run_queue - before->run_queue_after,
        .minor_faults = now->minor_faults - before->minor_faults,
        .major_faults = now->major_faults - before->major_faults,
        .disk_bytes = now->disk_bytes - before->disk_bytes,
        .call_bytes = now->call_bytes - before->call_bytes
    };
    for (int i = 0; i < EVIDENCE_COUNTERS; i++)
        e.counter[i] = now->counter[i] - before->counter[i];
    return e;
}
