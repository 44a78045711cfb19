#include "trace_lane.h"

#include "base/memory.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* --- steps ------------------------------------------------------------------------------------------------------ */

static int compare_steps(const void *a, const void *b)
{
    const struct trace_step *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* Number the steps, end each where the next one begins, and keep the longest run of consecutive numbers. */
static void settle_steps(struct trace_rank *rank)
{
    struct trace_step *steps = rank->steps.at;
    int count = (int)rank->steps.count;
    if (count == 0)
        return;
    qsort(steps, (size_t)count, sizeof *steps, compare_steps);
    for (int i = 0; i < count; i++) {
        if (steps[0].number < 0 || steps[i].number < 0)
            steps[i].number = i;
        if (i + 1 < count)
            steps[i].end = steps[i + 1].start;
    }
    int best = 0, most = 0;
    for (int begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && steps[end].number == steps[end - 1].number + 1;)
            end++;
        if (end - begin > most) {
            most = end - begin;
            best = begin;
        }
    }
    memmove(steps, steps + best, (size_t)most * sizeof *steps);
    rank->steps.count = (size_t)most;
}

size_t trace_first_after(const void *at, size_t count, size_t size, size_t offset, int64_t time)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (*(const int64_t *)((const char *)at + middle * size + offset) <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Return the index of the step around a moment; -1 if there is none. */
static int step_at(const struct trace_rank *rank, int64_t time)
{
    const struct trace_step *steps = rank->steps.at;
    const size_t first =
        trace_first_after(steps, rank->steps.count, sizeof *steps, offsetof(struct trace_step, end), time);
    return first < rank->steps.count && steps[first].start <= time ? (int)first : -1;
}

/* --- phases ----------------------------------------------------------------------------------------------------- */

void trace_phases_add_to(struct trace_phases *p, int64_t start, int64_t end, int kind, int32_t step)
{
    struct trace_phase *last = p->list.count ? (struct trace_phase *)p->list.at + p->list.count - 1 : NULL;
    if (start >= end)
        return;
    if (last && last->step == step && last->kind == kind && last->end == start) {
        last->end = end;
        return;
    }
    struct trace_phase *phase = trace_list_add(&p->list, sizeof *phase);
    *phase = (struct trace_phase){ start, end, step, (uint8_t)kind };
}

void trace_phases_add(struct trace_phases *p, int64_t start, int64_t end, int kind)
{
    while (start < end && p->step < p->step_count) {
        const struct trace_step *step = &p->steps[p->step];
        int64_t to = end < step->end ? end : step->end;
        trace_phases_add_to(p, start, to, kind, step->number);
        start = to > start ? to : start;
        p->step += step->end <= start;
    }
}

/* --- the CPU's collectives -------------------------------------------------------------------------------------- */

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int compare_work(const void *a, const void *b)
{
    const struct trace_work *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* The operators of the threads that are not gloo's: starts in rising order, and ends in rising order. */
struct work {
    struct trace_work *at;
    int64_t *ends;
    size_t count;
};

static struct work work_of(struct trace_rank *rank)
{
    bool *is_gloos = memory_new((size_t)rank->thread_count + 1, sizeof *is_gloos);
    const struct trace_call *calls = rank->calls.at;
    for (size_t i = 0; i < rank->calls.count; i++)
        is_gloos[calls[i].thread] = calls[i].thread != rank->step_thread;
    struct work work = { .at = rank->work.at };
    for (size_t i = 0; i < rank->work.count; i++)
        if (!is_gloos[work.at[i].thread])
            work.at[work.count++] = work.at[i];
    free(is_gloos);
    if (work.count == 0)
        return work;
    qsort(work.at, work.count, sizeof *work.at, compare_work);
    work.ends = memory_grow(NULL, work.count * sizeof *work.ends);
    for (size_t i = 0; i < work.count; i++)
        work.ends[i] = trace_work_end(&work.at[i]);
    qsort(work.ends, work.count, sizeof *work.ends, compare_times);
    return work;
}

/* Return the last end of an operator at or before `time`; `otherwise` if that is later. */
static int64_t last_end(const struct work *work, int64_t time, int64_t otherwise)
{
    const size_t after = trace_first_after(work->ends, work->count, sizeof *work->ends, 0, time);
    return after > 0 && work->ends[after - 1] > otherwise ? work->ends[after - 1] : otherwise;
}

/* Return the start of the operator that began during a collective and outlasts it; the collective's end if there is none. */
static int64_t first_outlasting(const struct work *work, const struct trace_wait *wait)
{
    size_t i =
        trace_first_after(work->at, work->count, sizeof *work->at, offsetof(struct trace_work, start), wait->start - 1);
    for (; i < work->count && work->at[i].start < wait->end; i++)
        if (trace_work_end(&work->at[i]) > wait->end)
            return work->at[i].start;
    return wait->end;
}

/* Set when the rank began to wait. Gloo's thread may note the end shortly after the waiting thread went on: the rank waited if it
 * had stood still for longer than that. */
static void find_entry(const struct work *work, struct trace_wait *wait, int64_t before)
{
    int64_t until = first_outlasting(work, wait);
    int64_t since = last_end(work, until, wait->start);
    since = since > before ? since : before;
    bool has_waited = until == wait->end || until - since > wait->end - until;
    wait->entered = has_waited && since < wait->end ? since : wait->end;
}

int trace_compare_ends(const void *a, const void *b)
{
    const struct trace_wait *x = a, *y = b;
    return (x->end > y->end) - (x->end < y->end);
}

static int compare_waits(const void *a, const void *b)
{
    const struct trace_wait *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

void trace_lane_add(struct trace_lane *lane, const struct trace_call *call, int32_t step, bool is_kernel)
{
    if (call->kind == SPAN_SEND_RECEIVE && call->to < 0 && call->from < 0) {
        lane->unpaired++;
        return;
    }
    lane->waits[lane->wait_count++] = (struct trace_wait){ .start = call->start,
                                                           .end = call->end,
                                                           .bytes = call->bytes,
                                                           .step = step,
                                                           .group = call->group,
                                                           .to = call->to,
                                                           .from = call->from,
                                                           .names_job_ranks = call->names_job_ranks,
                                                           .kind = call->kind,
                                                           .is_kernel = is_kernel };
}

static void add_cpu_waits(struct trace_rank *rank, struct trace_lane *lane)
{
    const struct trace_call *calls = rank->calls.at;
    const struct trace_step *steps = rank->steps.at;
    lane->waits = memory_new(rank->calls.count + rank->nccl.count + 1, sizeof *lane->waits);
    for (size_t i = 0; i < rank->calls.count; i++) {
        const int step = step_at(rank, calls[i].start);
        if (step >= 0)
            trace_lane_add(lane, &calls[i], steps[step].number, false);
    }
    struct work work = work_of(rank);
    qsort(lane->waits, (size_t)lane->wait_count, sizeof *lane->waits, trace_compare_ends);
    for (int i = 0; i < lane->wait_count; i++)
        find_entry(&work, &lane->waits[i], i ? lane->waits[i - 1].end : INT64_MIN);
    free(work.ends);
}

/* ---------------------------------------------------------------------------------------------------------------- */

static void drop(struct trace_list *list)
{
    free(list->at);
    *list = (struct trace_list){ 0 };
}

/* Keep the longest run of consecutive steps that have phases. */
static void find_steps(struct trace_lane *lane)
{
    lane->first_step = 0;
    lane->last_step = -1;
    for (int begin = 0, end; begin < lane->phase_count; begin = end) {
        for (end = begin + 1; end < lane->phase_count && lane->phases[end].step <= lane->phases[end - 1].step + 1;)
            end++;
        if (lane->phases[end - 1].step - lane->phases[begin].step > lane->last_step - lane->first_step) {
            lane->first_step = lane->phases[begin].step;
            lane->last_step = lane->phases[end - 1].step;
        }
    }
}

struct trace_lane trace_lane_of(struct trace_rank *rank)
{
    struct trace_lane lane = { 0 };
    settle_steps(rank);
    lane.phases = trace_cpu_phases(rank, &lane.phase_count);
    drop(&rank->ranges);
    lane.is_gpu = rank->nccl.count > 0;
    if (lane.is_gpu)
        drop(&rank->work);
    add_cpu_waits(rank, &lane);
    drop(&rank->work);
    if (lane.is_gpu)
        trace_gpu_lane(rank, &lane);
    qsort(lane.waits, (size_t)lane.wait_count, sizeof *lane.waits, compare_waits);
    find_steps(&lane);
    struct trace_list *const lists[] = { &rank->syncs, &rank->launches, &rank->kernels,
                                         &rank->calls, &rank->posts,    &rank->nccl };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        drop(lists[i]);
    return lane;
}

void trace_lane_close(struct trace_lane *lane)
{
    free(lane->phases);
    free(lane->waits);
    *lane = (struct trace_lane){ 0 };
}
