#include "trace_job.h"

#include "base/die.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* The groups of all traces, by their names and ranks. A message is between a group of two: its sender and its receiver. */
struct table {
    struct trace_job *job;
    char **key; /* (count) */
    int count;
    char *all; /* name of the group of all ranks; NULL before it is found */
};

/* Return the number of a group, and add it if it is new. */
static int number_of(struct table *t, const char *key, int *ranks, int size)
{
    int i = 1;
    while (i < t->count && strcmp(t->key[i], key) != 0)
        i++;
    if (i < t->count) {
        free(ranks);
        return i;
    }
    if (t->count == INT16_MAX)
        die(STATUS_USAGE, "%s: more than %d groups of ranks; record fewer ranks", t->job->ranks[0].path, INT16_MAX);
    size_t room = (size_t)t->count + 1;
    t->key = memory_grow(t->key, room * sizeof *t->key);
    t->job->group_ranks = memory_grow(t->job->group_ranks, room * sizeof *t->job->group_ranks);
    t->job->group_sizes = memory_grow(t->job->group_sizes, room * sizeof *t->job->group_sizes);
    t->key[t->count] = memory_text("%s", key);
    t->job->group_ranks[t->count] = ranks;
    t->job->group_sizes[t->count] = size;
    return t->count++;
}

/* Return the index of a rank; -1 if it has no trace. */
static int index_of(const struct trace_job *job, long rank)
{
    int low = 0, high = job->count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (job->ranks[middle].head.rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < job->count && job->ranks[low].head.rank == rank ? low : -1;
}

/* Read the numbers in a list of ranks into indices, (*size). NULL if there is none. */
static int *indices_of(const struct trace_job *job, const char *list, int *size)
{
    int *ranks = memory_new(strlen(list) / 2 + 1, sizeof *ranks);
    *size = 0;
    for (const char *at = list + strcspn(list, "0123456789"); *at; at += strcspn(at, "0123456789")) {
        char *end;
        ranks[(*size)++] = index_of(job, strtol(at, &end, 10));
        at = end;
    }
    if (*size == 0) {
        free(ranks);
        return NULL;
    }
    return ranks;
}

/* Return the ranks of a group as its trace lists them, in the event or at the head. */
static const char *list_of(const struct trace_rank *rank, const struct trace_group *group)
{
    for (int i = 0; group->ranks[0] == '\0' && i < rank->head.group_count; i++)
        if (strcmp(rank->head.groups[i].name, group->name) == 0)
            return rank->head.groups[i].ranks;
    return group->ranks;
}

/* Number a rank's own groups: (groups of the trace). The first group of all ranks is 0; later ones have numbers of their own, as
 * their calls are ordered among themselves only. */
static int *numbers_of(struct table *t, const struct trace_rank *rank)
{
    int *numbers = memory_new((size_t)rank->group_count + 1, sizeof *numbers);
    for (int g = 0; g < rank->group_count; g++) {
        const struct trace_group *group = &rank->groups[g];
        int size;
        int *ranks = indices_of(t->job, list_of(rank, group), &size);
        bool has_all = (ranks ? size : (int)group->size) == t->job->world;
        if (has_all && !t->all)
            t->all = memory_text("%s", group->name);
        if (has_all && strcmp(t->all, group->name) == 0) {
            free(ranks);
            continue; /* 0 */
        }
        char *key = memory_text("%s|%s", group->name, group->ranks);
        numbers[g] = number_of(t, key, ranks, size);
        free(key);
    }
    return numbers;
}

/* Give a message a group of its two ranks. */
static void settle_message(struct table *t, const int *ranks, int size, int me, struct trace_wait *wait)
{
    int peer = wait->to >= 0 ? wait->to : wait->from, index = -1;
    if (wait->names_job_ranks || !ranks)
        index = index_of(t->job, peer);
    else if (peer < size)
        index = ranks[peer];
    int from = wait->to >= 0 ? me : index, to = wait->to >= 0 ? index : me;
    char *key = memory_text("%d|%d of %d>%d", wait->group, peer, from, to);
    if (index >= 0) {
        free(key);
        key = memory_text("%d|%d>%d", wait->group, from, to);
    }
    wait->group = number_of(t, key, NULL, 2);
    wait->to = (int16_t)(wait->to >= 0 ? index : -1);
    wait->from = (int16_t)(wait->from >= 0 ? index : -1);
    free(key);
}

void trace_groups_settle(struct trace_job *job)
{
    struct table t = { .job = job };
    number_of(&t, "all ranks", NULL, job->world);
    for (int r = 0; r < job->count; r++) {
        struct trace_lane *lane = &job->lanes[r];
        int *numbers = numbers_of(&t, &job->ranks[r]);
        for (int i = 0; i < lane->wait_count; i++) {
            struct trace_wait *wait = &lane->waits[i];
            wait->group = wait->group < 0 ? 0 : numbers[wait->group];
            if (wait->kind == SPAN_SEND_RECEIVE)
                settle_message(&t, job->group_ranks[wait->group], job->group_sizes[wait->group], r, wait);
        }
        free(numbers);
    }
    job->groups = t.count;
    for (int i = 0; i < t.count; i++)
        free(t.key[i]);
    free(t.key);
    free(t.all);
}
