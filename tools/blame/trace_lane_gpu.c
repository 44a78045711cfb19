/* trace_lane_gpu: the phases of the GPU's compute stream, and NCCL's collectives beside it. trace_lane.h has the rules. */
#include "trace_lane.h"

#include "base/memory.h"

#include <stddef.h>
#include <stdlib.h>

static const int64_t SHORT_GAP = 20000; /* ns: between kernels that follow one another; a launch takes about 5 us */

/* A kernel of the compute stream and its launch. */
struct work {
    int64_t start, end, launched;
    int32_t step;
    uint8_t kind;
};

/* --- launches --------------------------------------------------------------------------------------------------- */

static int compare_launches(const void *a, const void *b)
{
    const struct trace_launch *x = a, *y = b;
    return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

/* Return the launch of a kernel; NULL if the trace lacks it. */
static const struct trace_launch *launch_of(const struct trace_rank *rank, uint32_t correlation)
{
    const struct trace_launch key = { .correlation = correlation };
    return rank->launches.count ? bsearch(&key, rank->launches.at, rank->launches.count, sizeof key, compare_launches)
                                : NULL;
}

/* Return the phase of the CPU around a moment; NULL if there is none. */
static const struct trace_phase *phase_at(const struct trace_phase *phases, int count, int64_t time)
{
    const size_t first =
        trace_first_after(phases, (size_t)count, sizeof *phases, offsetof(struct trace_phase, end), time);
    return first < (size_t)count && phases[first].start <= time ? &phases[first] : NULL;
}

/* --- the compute stream ----------------------------------------------------------------------------------------- */

static int compare_streams(const void *a, const void *b)
{
    const struct trace_kernel *x = a, *y = b;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

/* Sort the kernels by stream and start. Return the stream with the most kernel time, its kernels from `*first` on, (*count). */
static const struct trace_kernel *compute_stream(struct trace_rank *rank, size_t *count)
{
    struct trace_kernel *kernels = rank->kernels.at;
    const struct trace_kernel *found = kernels;
    int64_t most = -1;
    *count = 0;
    if (rank->kernels.count)
        qsort(kernels, rank->kernels.count, sizeof *kernels, compare_streams);
    for (size_t begin = 0, end; begin < rank->kernels.count; begin = end) {
        int64_t busy = 0;
        for (end = begin; end < rank->kernels.count && kernels[end].stream == kernels[begin].stream; end++)
            busy += kernels[end].end - kernels[end].start;
        if (busy > most) {
            most = busy;
            found = kernels + begin;
            *count = end - begin;
        }
    }
    return found;
}

/* Join kernels with their launches, and these with the CPU's phases. Kernels launched outside the steps are left out. */
static struct work *join(struct trace_rank *rank, const struct trace_lane *cpu, size_t *count)
{
    size_t all;
    const struct trace_kernel *kernels = compute_stream(rank, &all);
    struct work *work = memory_grow(NULL, (all + 1) * sizeof *work);
    *count = 0;
    for (size_t i = 0; i < all; i++) {
        const struct trace_launch *launch = launch_of(rank, kernels[i].correlation);
        int64_t launched = launch ? launch->start : kernels[i].start;
        const struct trace_phase *phase = phase_at(cpu->phases, cpu->phase_count, launched);
        if (phase)
            work[(*count)++] = (struct work){ kernels[i].start, kernels[i].end, launched, phase->step, phase->kind };
    }
    return work;
}

/* Fill a time with what the CPU did in it. Steps go up with time, and the CPU is never behind the GPU. */
static void add_cpu(struct trace_phases *made, const struct trace_lane *cpu, int64_t from, int64_t to, int32_t least)
{
    const struct trace_phase *end = cpu->phases + cpu->phase_count;
    for (const struct trace_phase *p = phase_at(cpu->phases, cpu->phase_count, from); p && p < end && p->start < to;
         p++)
        trace_phases_add_to(made, p->start > from ? p->start : from, p->end < to ? p->end : to, p->kind,
                            p->step > least ? p->step : least);
}

static struct trace_list fill(const struct trace_lane *cpu, const struct work *work, size_t count)
{
    struct trace_phases made = { 0 };
    int64_t now = cpu->phases[0].start;
    int32_t step = cpu->phases[0].step;
    for (size_t i = 0; i < count; i++) {
        const struct work *w = &work[i];
        if (w->start > now + SHORT_GAP && w->launched > now) { /* the CPU came late */
            int64_t until = w->launched < w->start ? w->launched : w->start;
            add_cpu(&made, cpu, now, until, step);
            now = until;
        }
        step = w->step > step ? w->step : step;
        trace_phases_add_to(&made, now, w->end, w->kind, step);
        now = w->end > now ? w->end : now;
    }
    add_cpu(&made, cpu, now, cpu->phases[cpu->phase_count - 1].end, step);
    return made.list;
}

/* --- collectives ------------------------------------------------------------------------------------------------ */

static int compare_posts(const void *a, const void *b)
{
    const struct trace_call *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

/* Complete what a kernel's own event does not say from the ranges around its launch: record_param_comms and nccl:…, one in the
 * other. Their names also know all-to-alls and the ranks of a message. */
static void complete(const struct trace_rank *rank, const struct trace_launch *launch, struct trace_call *call)
{
    enum { NESTED_MOST = 8 };
    const struct trace_call *posts = rank->posts.at;
    const struct trace_call key = { .start = launch->start, .thread = launch->thread };
    size_t low = 0, high = rank->posts.count;
    while (low < high) { /* the first post that begins after the launch */
        size_t middle = low + (high - low) / 2;
        if (compare_posts(&posts[middle], &key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i > 0 && low - i < NESTED_MOST && posts[i - 1].thread == launch->thread; i--) {
        const struct trace_call *post = &posts[i - 1];
        if (post->end < launch->start)
            continue;
        if (post->kind != SPAN_KINDS && (call->kind == SPAN_KINDS || call->kind == SPAN_SEND_RECEIVE))
            call->kind = post->kind;
        call->bytes = call->bytes ? call->bytes : post->bytes;
        call->group = call->group >= 0 ? call->group : post->group;
        if (call->to < 0 && call->from < 0) {
            call->to = post->to;
            call->from = post->from;
            call->names_job_ranks = post->names_job_ranks;
        }
    }
}

/* True if the CPU stood in a synchronize call when the collective ended. */
static bool is_synchronized(const struct trace_rank *rank, int64_t end)
{
    const struct trace_range *syncs = rank->syncs.at;
    for (size_t i = 0; i < rank->syncs.count; i++)
        if (syncs[i].start < end && syncs[i].end >= end)
            return true;
    return false;
}

/* Set when the compute stream began to wait. `before`: the end of the collective before. */
static void find_entry(const struct trace_rank *rank, const struct work *work, size_t count, struct trace_wait *wait,
                       int64_t before)
{
    const size_t next = trace_first_after(work, count, sizeof *work, offsetof(struct work, end), wait->end);
    int64_t since = next > 0 ? work[next - 1].end : wait->start;
    since = since > wait->start ? since : wait->start;
    since = since > before ? since : before;
    bool is_idle = next == count || work[next].start >= wait->end;
    bool has_waited = is_idle && (next == count || work[next].launched < wait->end || is_synchronized(rank, wait->end));
    wait->entered = has_waited && since < wait->end ? since : wait->end;
}

static void add_waits(struct trace_rank *rank, struct trace_lane *lane, const struct trace_lane *cpu)
{
    const struct trace_call *kernels = rank->nccl.at;
    if (rank->posts.count)
        qsort(rank->posts.at, rank->posts.count, sizeof(struct trace_call), compare_posts);
    for (size_t i = 0; i < rank->nccl.count; i++) {
        struct trace_call call = kernels[i];
        const struct trace_launch *launch = launch_of(rank, call.correlation);
        if (launch)
            complete(rank, launch, &call);
        const struct trace_phase *phase = phase_at(cpu->phases, cpu->phase_count, launch ? launch->start : call.start);
        if (phase && call.kind != SPAN_KINDS)
            trace_lane_add(lane, &call, phase->step, true);
    }
}

void trace_gpu_lane(struct trace_rank *rank, struct trace_lane *lane)
{
    if (lane->phase_count == 0)
        return;
    struct trace_lane cpu = *lane;
    if (rank->launches.count)
        qsort(rank->launches.at, rank->launches.count, sizeof(struct trace_launch), compare_launches);
    size_t count;
    struct work *work = join(rank, &cpu, &count);
    struct trace_list made = fill(&cpu, work, count);
    lane->phases = made.at;
    lane->phase_count = (int)made.count;
    int cpu_waits = lane->wait_count;
    add_waits(rank, lane, &cpu);
    struct trace_wait *waits = lane->waits + cpu_waits;
    int added = lane->wait_count - cpu_waits;
    qsort(waits, (size_t)added, sizeof *waits, trace_compare_ends);
    for (int i = 0; i < added; i++)
        find_entry(rank, work, count, &waits[i], i ? waits[i - 1].end : INT64_MIN);
    free(work);
    free(cpu.phases);
}
