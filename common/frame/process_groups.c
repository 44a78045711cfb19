#include "frame/process_groups.h"

#include "base/die.h"

#include <stddef.h>

const struct process_group *process_groups_find(const struct process_groups *groups, int ranks)
{
    for (int i = 0; i < groups->count; i++)
        if (groups->group[i].ranks == ranks)
            return &groups->group[i];
    return NULL;
}

void process_groups_open(struct process_groups *groups, struct world *world, const struct cases *cases,
                         struct spans *spans)
{
    *groups = (struct process_groups){ 0 };
    for (int i = 0; i < cases->count; i++) {
        int ranks = run_of(cases->settings[i])->ranks;
        if (process_groups_find(groups, ranks))
            continue;
        if (groups->count == PROCESS_GROUPS_MOST)
            die(STATUS_WRONG, "cases of more than %d world sizes; run fewer with --cases", PROCESS_GROUPS_MOST);
        struct process_group *group = &groups->group[groups->count++];
        *group = (struct process_group){ .ranks = ranks, .world = world_first(world, ranks) };
        if (group->world)
            group->collective = collective_open(group->world, spans);
    }
}

void process_groups_close(struct process_groups *groups)
{
    for (int i = 0; i < groups->count; i++)
        if (groups->group[i].world) {
            collective_close(groups->group[i].collective);
            world_leave(groups->group[i].world);
        }
}
