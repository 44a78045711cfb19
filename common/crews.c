#include "crews.h"

#include "die.h"

#include <stddef.h>

const struct crew *crews_find(const struct crews *crews, int ranks)
{
    for (int i = 0; i < crews->count; i++)
        if (crews->crew[i].ranks == ranks)
            return &crews->crew[i];
    return NULL;
}

void crews_open(struct crews *crews, struct world *world, const struct cases *cases, struct spans *spans)
{
    *crews = (struct crews){ 0 };
    for (int i = 0; i < cases->count; i++) {
        int ranks = run_of(cases->settings[i])->ranks;
        if (crews_find(crews, ranks))
            continue;
        if (crews->count == CREWS_MOST)
            die(STATUS_WRONG, "cases of more than %d world sizes; run fewer with --cases", CREWS_MOST);
        struct crew *crew = &crews->crew[crews->count++];
        *crew = (struct crew){ .ranks = ranks, .world = world_first(world, ranks) };
        if (crew->world)
            crew->collective = collective_open(crew->world, spans);
    }
}

void crews_close(struct crews *crews)
{
    for (int i = 0; i < crews->count; i++)
        if (crews->crew[i].world) {
            collective_close(crews->crew[i].collective);
            world_leave(crews->crew[i].world);
        }
}
