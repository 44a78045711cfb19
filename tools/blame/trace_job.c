#include "trace_job.h"

#include "base/die.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- steps ------------------------------------------------------------------------------------------------------ */

static void find_common_steps(struct trace_job *job)
{
    int first_of = 0, last_of = 0;
    bool are_same = true;
    for (int r = 1; r < job->count; r++) {
        const struct trace_lane *lane = &job->lanes[r];
        are_same &= lane->first_step == job->lanes[0].first_step && lane->last_step == job->lanes[0].last_step;
        first_of = lane->first_step > job->lanes[first_of].first_step ? r : first_of;
        last_of = lane->last_step < job->lanes[last_of].last_step ? r : last_of;
    }
    job->first_step = job->lanes[first_of].first_step;
    job->last_step = job->lanes[last_of].last_step;
    if (job->last_step < job->first_step)
        die(STATUS_USAGE,
            "%s: its steps begin with %d, but those of %s end with %d; record the same steps on all ranks",
            job->ranks[first_of].path, job->first_step, job->ranks[last_of].path, job->last_step);
    if (!are_same)
        warn("the traces have different steps; steps %d to %d are used, which all have (%s begins last, %s ends first)",
             job->first_step, job->last_step, job->ranks[first_of].path, job->ranks[last_of].path);
}

/* --- collectives ------------------------------------------------------------------------------------------------ */

static int compare_members(const void *a, const void *b)
{
    const struct trace_member *x = a, *y = b;
    if (x->wait->group != y->wait->group)
        return x->wait->group < y->wait->group ? -1 : 1;
    if (x->wait->step != y->wait->step)
        return x->wait->step < y->wait->step ? -1 : 1;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return x->rank - y->rank;
}

/* List the calls of the common steps, each with its place among its group's calls of the step: (*count). */
static struct trace_member *list_members(const struct trace_job *job, int *count)
{
    size_t all = 1;
    for (int r = 0; r < job->count; r++)
        all += (size_t)job->lanes[r].wait_count;
    struct trace_member *members = memory_new(all, sizeof *members);
    int *places = memory_new((size_t)job->groups, sizeof *places);
    *count = 0;
    for (int r = 0; r < job->count; r++) {
        const struct trace_lane *lane = &job->lanes[r];
        for (int i = 0; i < lane->wait_count; i++) {
            struct trace_wait *wait = &lane->waits[i];
            if (i == 0 || wait->step != wait[-1].step)
                memset(places, 0, (size_t)job->groups * sizeof *places);
            if (wait->step >= job->first_step && wait->step <= job->last_step)
                members[(*count)++] = (struct trace_member){ wait, r, places[wait->group]++ };
        }
    }
    free(places);
    qsort(members, (size_t)*count, sizeof *members, compare_members);
    return members;
}

static bool is_same_collective(const struct trace_member *x, const struct trace_member *y)
{
    return x->wait->group == y->wait->group && x->wait->step == y->wait->step && x->place == y->place;
}

/* Count the ranks that take part in the group whose calls begin here. `mine` (ranks) tells which. */
static int count_ranks(const struct trace_job *job, const struct trace_member *at, const struct trace_member *end,
                       bool *mine)
{
    int group = at->wait->group, ranks = 0;
    memset(mine, group == 0, (size_t)job->count * sizeof *mine);
    for (; at < end && at->wait->group == group; at++)
        mine[at->rank] = true;
    for (int r = 0; r < job->count; r++)
        ranks += mine[r];
    return ranks;
}

/* Describe the difference between the calls of a collective; NULL if they agree. `mine`: the ranks that should take part. */
static char *difference(const struct trace_job *job, const struct trace_collective *m, const bool *mine, int ranks)
{
    const struct trace_member *first = &m->member[0];
    for (int i = 1; i < m->members; i++) {
        const struct trace_member *other = &m->member[i];
        bool is_message = first->wait->kind == SPAN_SEND_RECEIVE && other->wait->kind == SPAN_SEND_RECEIVE;
        if (first->wait->kind != other->wait->kind || (first->wait->bytes != other->wait->bytes && !is_message))
            return memory_text("call %d of rank %d is %s of %zu bytes, of rank %d %s of %zu", first->place + 1,
                               trace_job_rank(job, first->rank), span_names[first->wait->kind], first->wait->bytes,
                               trace_job_rank(job, other->rank), span_names[other->wait->kind], other->wait->bytes);
    }
    if (m->members == ranks)
        return NULL;
    int absent = 0, i = 0;
    for (; absent < job->count; absent++) {
        if (i < m->members && m->member[i].rank == absent)
            i++;
        else if (mine[absent])
            break;
    }
    return memory_text("call %d of rank %d is %s, rank %d makes none", first->place + 1,
                       trace_job_rank(job, first->rank), span_names[first->wait->kind], trace_job_rank(job, absent));
}

/* Gather the calls into collectives. Mark steps whose calls differ in `is_bad` (steps). Return the first difference, NULL if none. */
static char *gather(struct trace_job *job, int count, bool *is_bad)
{
    bool *mine = memory_new((size_t)job->count, sizeof *mine);
    struct trace_member *at = job->members, *end = at + count;
    char *why = NULL;
    int ranks = 0;
    job->collectives = memory_new((size_t)count + 1, sizeof *job->collectives);
    for (struct trace_member *next; at < end; at = next) {
        if (at == job->members || at->wait->group != at[-1].wait->group)
            ranks = count_ranks(job, at, end, mine);
        for (next = at + 1; next < end && is_same_collective(at, next);)
            next++;
        struct trace_collective *m = &job->collectives[job->collective_count++];
        *m = (struct trace_collective){ at, (int)(next - at) };
        char *differs = difference(job, m, mine, ranks);
        if (!differs)
            continue;
        is_bad[at->wait->step - job->first_step] = true;
        if (!why)
            why = memory_text("step %d: %s", at->wait->step, differs);
        free(differs);
    }
    free(mine);
    return why;
}

/* Keep the longest run of steps without a difference, if it is most of them: more would be a guess. */
static void keep_good_steps(struct trace_job *job, const bool *is_bad, const char *why)
{
    int steps = job->last_step - job->first_step + 1, best = 0, most = 0;
    for (int begin = 0, end; begin < steps; begin = end + 1) {
        for (end = begin; end < steps && !is_bad[end];)
            end++;
        if (end - begin > most) {
            most = end - begin;
            best = begin;
        }
    }
    if (2 * most < steps)
        die(STATUS_WRONG,
            "%s: the ranks' calls do not match, so no rank is named: %s; record the same steps of one job on all ranks",
            job->ranks[0].path, why);
    job->first_step += best;
    job->last_step = job->first_step + most - 1;
    warn("only steps %d to %d are used, as calls of others do not match: %s", job->first_step, job->last_step, why);
    int kept = 0;
    for (int i = 0; i < job->collective_count; i++) {
        int step = job->collectives[i].member[0].wait->step;
        if (step >= job->first_step && step <= job->last_step)
            job->collectives[kept++] = job->collectives[i];
    }
    job->collective_count = kept;
}

struct trace_job trace_job_open(const char *const *paths, int count, const struct trace_options *options)
{
    struct trace_job job = { .count = count };
    trace_files_read(&job, paths, options);
    for (int r = 0; r < job.count; r++)
        if (job.lanes[r].unpaired)
            warn("%s: %d sends and receives are left out, as the trace does not name the other rank", job.ranks[r].path,
                 job.lanes[r].unpaired);
    find_common_steps(&job);
    trace_groups_settle(&job);
    int calls;
    job.members = list_members(&job, &calls);
    bool *is_bad = memory_new((size_t)(job.last_step - job.first_step) + 1, sizeof *is_bad);
    char *why = gather(&job, calls, is_bad);
    if (why)
        keep_good_steps(&job, is_bad, why);
    free(why);
    free(is_bad);
    return job;
}

void trace_job_close(struct trace_job *job)
{
    for (int i = 0; i < job->count; i++) {
        trace_rank_close(&job->ranks[i]);
        trace_lane_close(&job->lanes[i]);
    }
    for (int g = 0; g < job->groups; g++)
        free(job->group_ranks[g]);
    free(job->group_ranks);
    free(job->group_sizes);
    free(job->ranks);
    free(job->lanes);
    free(job->members);
    free(job->collectives);
    *job = (struct trace_job){ 0 };
}
