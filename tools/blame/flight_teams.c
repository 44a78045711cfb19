#include "flight_teams.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* --- members ------------------------------------------------------------------------------------------------------ */

/* Return the longest list of this group in any dump; NULL if no dump has one. */
static const struct flight_group *listed(const struct flight_job *job, const char *name)
{
    const struct flight_group *found = NULL;
    for (int i = 0; i < job->dumps; i++)
        for (int g = 0; g < job->dump[i].groups; g++) {
            const struct flight_group *group = &job->dump[i].group[g];
            if (strcmp(group->name, name) == 0 && group->count > (found ? found->count : 0))
                found = group;
        }
    return found;
}

/* Set the calls of a dump in a group. */
static void find_calls(struct flight_member *member, const struct flight_dump *dump, const char *group)
{
    member->has_dump = true;
    for (int i = 0; i < dump->count; i++)
        if (!dump->call[i].is_message && strcmp(dump->call[i].group, group) == 0) {
            member->call = member->count++ ? member->call : &dump->call[i];
        }
}

/* Add ranks (count, rising) that are no members yet. The list stays sorted. */
static void add_members(struct flight_team *team, const int *rank, int count)
{
    struct flight_member *all = memory_new((size_t)team->members + (size_t)count + 1, sizeof *all);
    int filled = 0, old = 0;
    for (int i = 0; i <= count; i++) {
        while (old < team->members && (i == count || team->member[old].rank < rank[i]))
            all[filled++] = team->member[old++];
        bool is_new = i < count && (filled == 0 || all[filled - 1].rank != rank[i]) &&
                      (old == team->members || team->member[old].rank != rank[i]);
        if (is_new)
            all[filled++].rank = rank[i];
    }
    free(team->member);
    team->member = all;
    team->members = filled;
}

static void settle_members(const struct flight_job *job, struct flight_team *team)
{
    const struct flight_group *list = listed(job, team->name);
    bool is_world = strcmp(team->description, "default_pg") == 0;
    if (!list && is_world)
        list =
            listed(job, ""); /* gloo's blank group: after other groups were made it may be a part, but it starts at 0 */
    team->is_listed = list || is_world;
    if (list)
        add_members(team, list->rank, list->count);
    for (int i = 0; i < job->dumps; i++) {
        struct flight_member calls = { 0 };
        find_calls(&calls, &job->dump[i], team->name);
        if (calls.count || is_world)
            add_members(team, &job->dump[i].rank, 1);
    }
    int next = 0;
    for (int i = 0; i < team->members; i++) {
        while (next < job->dumps && job->dump[next].rank < team->member[i].rank)
            next++;
        if (next < job->dumps && job->dump[next].rank == team->member[i].rank)
            find_calls(&team->member[i], &job->dump[next], team->name);
    }
}

/* --- teams -------------------------------------------------------------------------------------------------------- */

static void add_team(struct flight_job *job, const struct flight_call *call)
{
    for (int i = 0; i < job->teams; i++)
        if (strcmp(job->team[i].name, call->group) == 0)
            return;
    job->team = memory_grow(job->team, ((size_t)job->teams + 1) * sizeof *job->team);
    struct flight_team *team = &job->team[job->teams++];
    *team = (struct flight_team){ .name = call->group, .description = call->description, .lowest = INT64_MAX };
    settle_members(job, team);
    for (int i = 0; i < team->members; i++) {
        const struct flight_member *member = &team->member[i];
        if (member->count == 0)
            continue;
        int64_t first = member->call[0].sequence, last = member->call[member->count - 1].sequence;
        team->lowest = first < team->lowest ? first : team->lowest;
        team->highest = last > team->highest ? last : team->highest;
    }
}

struct flight_job flight_job_of(const struct flight_dump *dump, int dumps)
{
    struct flight_job job = { .dump = dump, .dumps = dumps };
    for (int i = 0; i < dumps; i++)
        for (int c = 0; c < dump[i].count; c++) {
            const struct flight_call *call = &dump[i].call[c];
            job.newest = call->created > job.newest ? call->created : job.newest;
            job.messages += call->is_message;
            if (!call->is_message && (c == 0 || strcmp(call->group, call[-1].group) != 0))
                add_team(&job, call);
        }
    return job;
}

void flight_job_close(struct flight_job *job)
{
    for (int i = 0; i < job->teams; i++)
        free(job->team[i].member);
    free(job->team);
}

const struct flight_call *flight_call_at(const struct flight_member *member, int64_t sequence)
{
    int low = 0, high = member->count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (member->call[middle].sequence < sequence)
            low = middle + 1;
        else
            high = middle;
    }
    return low < member->count && member->call[low].sequence == sequence ? &member->call[low] : NULL;
}

bool flight_is_behind(const struct flight_member *member, int64_t sequence)
{
    return member->has_dump && (member->count == 0 || member->call[member->count - 1].sequence < sequence);
}
