#include "trace_rank.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct reader {
    struct trace_rank *rank;
    const char *step_name;
};

/* The list doubles, so most of its last half is never touched. */
void *trace_list_add(struct trace_list *list, size_t size)
{
    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 1024;
        list->at = memory_grow(list->at, list->room * size);
    }
    return (char *)list->at + list->count++ * size;
}

/* Return the index of a thread; few threads record most events, so the last one is tried first. */
static int thread_of(struct trace_rank *rank, const struct trace_event *e)
{
    const int64_t key = (int64_t)((uint64_t)e->process * 1000003 ^ (uint64_t)e->thread);
    for (int i = rank->thread_count - 1; i >= 0; i--)
        if (rank->threads[i] == key)
            return i;
    enum { THREADS_MOST = 4096 };
    if (rank->thread_count == THREADS_MOST)
        return THREADS_MOST - 1;
    rank->threads = memory_grow_by_one(rank->threads, rank->thread_count, sizeof *rank->threads);
    rank->threads[rank->thread_count] = key;
    return rank->thread_count++;
}

static bool is_cut(const char *ranks)
{
    return strstr(ranks, "...") != NULL;
}

/* Return the index of the process group that an event names; -1 if it names none. */
static int group_of(struct trace_rank *rank, const struct trace_arguments *a)
{
    if (a->group[0] == '\0' && (a->ranks[0] == '\0' || strcmp(a->ranks, "[]") == 0))
        return -1;
    const char *ranks = is_cut(a->ranks) ? "" : a->ranks; /* long lists are cut */
    for (int i = rank->group_count - 1; i >= 0; i--)
        if (strcmp(rank->groups[i].name, a->group) == 0 && strcmp(rank->groups[i].ranks, ranks) == 0)
            return i;
    enum { GROUPS_MOST = 1 << 12 };
    if (rank->group_count == GROUPS_MOST)
        return -1;
    rank->groups = memory_grow_by_one(rank->groups, rank->group_count, sizeof *rank->groups);
    struct trace_group *group = &rank->groups[rank->group_count];
    memcpy(group->name, a->group, sizeof group->name);
    memcpy(group->ranks, ranks, strlen(ranks) + 1);
    group->size = a->group_size;
    return rank->group_count++;
}

static void take_step(struct trace_rank *rank, const struct trace_event *e)
{
    const char *number = strrchr(e->name, '#');
    struct trace_step *step = trace_list_add(&rank->steps, sizeof *step);
    *step = (struct trace_step){ .start = e->start, .end = e->start + e->duration, .number = -1 };
    if (number && number[1] >= '0' && number[1] <= '9' && strlen(number) < 10)
        step->number = atoi(number + 1);
    rank->step_thread = thread_of(rank, e);
}

static int16_t small(int64_t rank)
{
    return rank >= 0 && rank <= INT16_MAX ? (int16_t)rank : -1;
}

static void take_call(struct trace_rank *rank, struct trace_list *list, const struct trace_event *e)
{
    const struct trace_arguments *a = &e->arguments;
    struct trace_call_name name = trace_call_named(a->collective[0] ? a->collective : e->name);
    int64_t elements = a->elements_in > a->elements_out ? a->elements_in : a->elements_out;
    struct trace_call *call = trace_list_add(list, sizeof *call);
    *call = (struct trace_call){ .start = e->start,
                                 .end = e->start + e->duration,
                                 .correlation = (uint32_t)a->correlation,
                                 .thread = thread_of(rank, e),
                                 .group = group_of(rank, a),
                                 .to = (int16_t)name.to,
                                 .from = (int16_t)name.from,
                                 .kind = (uint8_t)name.kind };
    if (name.kind == SPAN_SEND_RECEIVE && (a->source >= 0 || a->destination >= 0)) {
        call->names_job_ranks = true;
        call->to = small(a->destination);
        call->from = small(a->source);
    }
    if (elements > 0 && elements < INT64_C(1) << 48)
        call->bytes = (size_t)elements * (size_t)trace_type_bytes(a->type);
}

static void take_kernel(struct trace_rank *rank, const struct trace_event *e)
{
    if (trace_is_collective_kernel(e->name)) {
        take_call(rank, &rank->nccl, e);
        return;
    }
    struct trace_kernel *kernel = trace_list_add(&rank->kernels, sizeof *kernel);
    *kernel = (struct trace_kernel){ e->start, e->start + e->duration, (uint32_t)e->arguments.correlation,
                                     (int32_t)e->arguments.stream };
}

static void take_runtime(struct trace_rank *rank, const struct trace_event *e)
{
    if (strstr(e->name, "Synchronize")) {
        struct trace_range *sync = trace_list_add(&rank->syncs, sizeof *sync);
        *sync = (struct trace_range){ .start = e->start, .end = e->start + e->duration };
    } else if (e->arguments.correlation >= 0 && (strstr(e->name, "Launch") || strstr(e->name, "Mem"))) {
        struct trace_launch *launch = trace_list_add(&rank->launches, sizeof *launch);
        *launch = (struct trace_launch){ e->start, (uint32_t)e->arguments.correlation, thread_of(rank, e) };
    }
}

static void take_range(struct trace_rank *rank, const struct trace_event *e, enum span_kind phase)
{
    struct trace_range *range = trace_list_add(&rank->ranges, sizeof *range);
    *range = (struct trace_range){
        .start = e->start, .end = e->start + e->duration, .thread = thread_of(rank, e), .phase = (uint8_t)phase
    };
}

/* Operators that wait for a collective, or only hand it over, are no work. */
static bool is_work(const char *name)
{
    return !trace_name_begins(name, "c10d::") && !trace_name_begins(name, "record_param_comms") &&
           !strstr(name, "wait");
}

static bool is_step(const struct reader *reader, const char *name)
{
    return reader->step_name ? trace_name_begins(name, reader->step_name) : trace_name_begins(name, "ProfilerStep#");
}

static void take_range_of_cpu(const struct reader *reader, const struct trace_event *e, bool is_operator)
{
    struct trace_rank *rank = reader->rank;
    if (!is_operator && is_step(reader, e->name)) {
        take_step(rank, e);
        return;
    }
    if (trace_name_begins(e->name, "gloo:") && trace_call_named(e->name).kind != SPAN_KINDS)
        take_call(rank, &rank->calls, e);
    else if (trace_name_begins(e->name, "nccl:") || trace_name_begins(e->name, "record_param_comms"))
        take_call(rank, &rank->posts, e);
    enum span_kind phase = trace_phase_of(e);
    if (phase != SPAN_PHASES)
        take_range(rank, e, phase);
    if (is_operator && is_work(e->name)) {
        const int64_t units = e->duration / 16;
        struct trace_work *work = trace_list_add(&rank->work, sizeof *work);
        *work = (struct trace_work){ e->start, units < UINT32_MAX ? (uint32_t)units : UINT32_MAX, thread_of(rank, e) };
    }
}

static void take_event(void *to, const struct trace_event *e)
{
    struct reader *reader = to;
    struct trace_rank *rank = reader->rank;
    const char *category = e->category;
    if (e->phase == 's' && strcmp(category, "fwdbwd") == 0) { /* an arrow from an operator to its gradient's: forward */
        struct trace_event mark = *e;
        mark.duration = 1; /* ns: a moment would leave no trace of itself */
        take_range(rank, &mark, SPAN_FORWARD);
        return;
    }
    if (e->phase != 'X' || !e->has_duration)
        return;
    if (strcmp(category, "cpu_op") == 0 || strcmp(category, "user_annotation") == 0)
        take_range_of_cpu(reader, e, category[0] == 'c');
    else if (strcmp(category, "kernel") == 0 || strcmp(category, "gpu_memcpy") == 0 ||
             strcmp(category, "gpu_memset") == 0)
        take_kernel(rank, e);
    else if (strcmp(category, "cuda_runtime") == 0 || strcmp(category, "cuda_driver") == 0)
        take_runtime(rank, e);
}

/* Move all times from the trace's base to that of the clock. */
static void add_base(struct trace_rank *rank)
{
    const int64_t base = rank->head.base;
    if (base <= 0)
        return;
    struct trace_step *steps = rank->steps.at;
    for (size_t i = 0; i < rank->steps.count; i++)
        steps[i] = (struct trace_step){ steps[i].start + base, steps[i].end + base, steps[i].number };
    struct trace_list *const ranges[] = { &rank->ranges, &rank->syncs };
    for (size_t n = 0; n < sizeof ranges / sizeof *ranges; n++)
        for (size_t i = 0; i < ranges[n]->count; i++) {
            struct trace_range *r = (struct trace_range *)ranges[n]->at + i;
            r->start += base;
            r->end += base;
        }
    struct trace_list *const calls[] = { &rank->calls, &rank->posts, &rank->nccl };
    for (size_t n = 0; n < sizeof calls / sizeof *calls; n++)
        for (size_t i = 0; i < calls[n]->count; i++) {
            struct trace_call *call = (struct trace_call *)calls[n]->at + i;
            call->start += base;
            call->end += base;
        }
    struct trace_kernel *kernels = rank->kernels.at;
    for (size_t i = 0; i < rank->kernels.count; i++) {
        kernels[i].start += base;
        kernels[i].end += base;
    }
    struct trace_work *work = rank->work.at;
    for (size_t i = 0; i < rank->work.count; i++)
        work[i].start += base;
    struct trace_launch *launches = rank->launches.at;
    for (size_t i = 0; i < rank->launches.count; i++)
        launches[i].start += base;
}

void trace_rank_read(struct trace_rank *rank, const char *path, const char *step_name)
{
    struct reader reader = { rank, step_name };
    *rank = (struct trace_rank){ .path = path, .step_thread = -1 };
    rank->end = trace_json_read(path, take_event, &reader, &rank->head, &rank->why);
    add_base(rank);
}

void trace_rank_close(struct trace_rank *rank)
{
    free(rank->head.groups);
    free(rank->steps.at);
    free(rank->ranges.at);
    free(rank->work.at);
    free(rank->syncs.at);
    free(rank->launches.at);
    free(rank->kernels.at);
    free(rank->calls.at);
    free(rank->posts.at);
    free(rank->nccl.at);
    free(rank->groups);
    free(rank->threads);
    free(rank->why);
    *rank = (struct trace_rank){ 0 };
}
