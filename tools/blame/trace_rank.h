/* trace_rank: what one rank's trace says, as far as blame needs it.
 *
 * A trace of a gigabyte has millions of events, and they come in no useful order: all operators of a thread, then all kernels. So
 * a few bytes of each are kept, and trace_lane.c sorts and joins them once the file is read. Times are nanoseconds on the
 * rank's clock; names are read once, by trace_names.c. */
#ifndef LOCKSTEP_TRACE_RANK_H
#define LOCKSTEP_TRACE_RANK_H

#include "collective/span.h"
#include "trace_json.h"
#include "trace_names.h"

#include <stddef.h>

/* A step: from its own annotation's start to the next one's. */
struct trace_step {
    int64_t start, end;
    int32_t number;
};

/* A range of time on a thread. */
struct trace_range {
    int64_t start, end;
    int32_t thread; /* index */
    uint8_t phase;  /* enum span_kind */
};

/* An operator, in 16 bytes: there are millions. Its duration is in units of 16 ns, and 68 s at most. */
struct trace_work {
    int64_t start;
    uint32_t duration;
    int32_t thread; /* index */
};

static inline int64_t trace_work_end(const struct trace_work *work)
{
    return work->start + 16 * (int64_t)work->duration;
}

/* A call from the CPU that started a kernel. */
struct trace_launch {
    int64_t start;
    uint32_t correlation;
    int32_t thread;
};

struct trace_kernel {
    int64_t start, end;
    uint32_t correlation;
    int32_t stream;
};

/* A collective: a range of the CPU, or NCCL's kernel. What the event does not say is SPAN_KINDS, 0 or -1. */
struct trace_call {
    int64_t start, end;
    size_t bytes;
    uint32_t correlation;
    int32_t thread;
    int32_t group;    /* index into `groups` */
    int16_t to, from; /* ranks of a message: of the job, or within the group */
    bool names_job_ranks;
    uint8_t kind;
};

/* A list that grows; `at` points to elements of the type that a comment names. */
struct trace_list {
    void *at;
    size_t count, room;
};

/* Return the place for one more element of `size` bytes, uninitialised. */
void *trace_list_add(struct trace_list *list, size_t size);

struct trace_rank {
    const char *path;
    struct trace_head head;
    struct trace_list steps;    /* struct trace_step */
    struct trace_list ranges;   /* struct trace_range: with a phase */
    struct trace_list work;     /* struct trace_work: operators, the work of the CPU */
    struct trace_list syncs;    /* struct trace_range: the CPU waits for the GPU */
    struct trace_list launches; /* struct trace_launch */
    struct trace_list kernels;  /* struct trace_kernel: of computation */
    struct trace_list calls;    /* struct trace_call: gloo's collectives */
    struct trace_list posts;    /* struct trace_call: ranges of the CPU that start NCCL's collectives */
    struct trace_list nccl;     /* struct trace_call: NCCL's kernels */
    struct trace_group *groups; /* (group_count) the process groups that calls name */
    int group_count;
    int64_t *threads; /* (thread_count) numbers of the process and the thread, mixed */
    int thread_count;
    int step_thread; /* index; -1: no step */
    enum trace_end end;
    char *why; /* unless TRACE_WHOLE */
};

/* Read a trace. `step_name`: the annotation whose ranges are the steps; NULL for the profiler's own, ProfilerStep#N. */
void trace_rank_read(struct trace_rank *rank, const char *path, const char *step_name);
void trace_rank_close(struct trace_rank *rank);

#endif
