/* trace_lane: one rank's steps as phases and collectives, from what its trace says (trace_rank.h).
 *
 * On the CPU, a moment belongs to the latest range around it whose name is known (trace_names.h). Between such ranges it belongs to
 *     data        before the first forward range: getting the batch, with any stall before it
 *     forward     up to the first backward range: the loss
 *     backward    up to the update
 *     host        after the update: work that is not training
 *     other       in a step without any such range, or after backward without an update
 * Operators that have a gradient count as forward, so a model needs no annotation.
 *
 * On a GPU, only GPU time counts: the lane is that of the compute stream, the one whose kernels take longest. A kernel belongs to
 * the phase and step in which the CPU launched it. A gap before a kernel that was launched only then is the CPU's: it belongs to
 * what the CPU did meanwhile. The rest of the gap belongs to the kernel.
 *
 * A rank begins to wait for a collective (`entered`) when its last work before the collective's end is over:
 *     CPU    the last operator of the threads that are not gloo's
 *     GPU    the last kernel before a gap in the compute stream, if the next kernel was launched before the collective ended, or
 *            if the CPU then stood in a synchronize call. Else the collective was hidden.
 * Collectives are waited for one after the other. */
#ifndef LOCKSTEP_TRACE_LANE_H
#define LOCKSTEP_TRACE_LANE_H

#include "trace_rank.h"

/* Times in ns on the rank's clock. */
struct trace_phase {
    int64_t start, end;
    int32_t step;
    uint8_t kind; /* enum span_kind, below SPAN_PHASES */
};

struct trace_wait {
    int64_t start, entered, end;
    size_t bytes;
    int32_t step;
    int32_t group;    /* index into the rank's groups; -1: the trace does not say */
    int16_t to, from; /* ranks within the group, or of the job; -1: none or unknown */
    bool names_job_ranks;
    uint8_t kind;   /* enum span_kind, of a collective */
    bool is_kernel; /* NCCL's: all ranks' kernels end together */
};

struct trace_lane {
    struct trace_phase *phases; /* (phase_count) without gaps, in time order */
    int phase_count;
    struct trace_wait *waits; /* (wait_count) by step and start */
    int wait_count;
    int first_step, last_step; /* steps without a gap in their numbers; none: last < first */
    int unpaired;              /* sends and receives left out: the trace does not name the other rank */
    bool is_gpu;
};

/* Build the lane. Sorts and frees lists of `rank`. */
struct trace_lane trace_lane_of(struct trace_rank *rank);
void trace_lane_close(struct trace_lane *lane);

/* trace_lane_cpu.c: list the phases of the CPU, (*count). Free them. */
struct trace_phase *trace_cpu_phases(struct trace_rank *rank, int *count);

/* trace_lane_gpu.c: replace the lane's phases, which are the CPU's, by those of the GPU, and add NCCL's collectives. */
void trace_gpu_lane(struct trace_rank *rank, struct trace_lane *lane);

/* Append a phase; cut it where a step ends, and join it to the last one if that has the same kind. */
struct trace_phases {
    const struct trace_step *steps; /* (step_count) */
    int step_count, step;           /* step: the index of the running one */
    struct trace_list list;         /* struct trace_phase */
};
void trace_phases_add(struct trace_phases *phases, int64_t start, int64_t end, int kind);
void trace_phases_add_to(struct trace_phases *phases, int64_t start, int64_t end, int kind, int32_t step);

/* Return the index of the first of `count` elements of `size` bytes whose time is after `time`; count if there is none. The time is an
 * int64_t `offset` bytes into an element, and rises. */
size_t trace_first_after(const void *at, size_t count, size_t size, size_t offset, int64_t time);

/* Add a collective's wait, without the moment at which the rank entered it. A message without its other rank is left out and counted. */
void trace_lane_add(struct trace_lane *lane, const struct trace_call *call, int32_t step, bool is_kernel);

/* Compare two waits (qsort()) by their ends. */
int trace_compare_ends(const void *a, const void *b);

#endif
