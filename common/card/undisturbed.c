#include "card/undisturbed.h"

#include "base/interference.h"
#include "base/memory.h"
#include "card/brief.h"
#include "world/world.h"

#include <math.h>
#include <stdlib.h>

/* An interrupt takes less, and is a part of any measurement. */
static const double LEAST_S = 0.5e-3;

struct undisturbed undisturbed_begin(void)
{
    return (struct undisturbed){ interference_by_others(), interference_steal_time(""), world_wall() };
}

double undisturbed_lost(struct undisturbed since, struct world *world)
{
    const struct undisturbed now = undisturbed_begin();
    const double took = now.began - since.began, lost = now.by_others - since.by_others + now.stolen - since.stolen,
                 mine = lost >= LEAST_S ? lost / took : 0;
    const int ranks = world_size(world);
    double *all = memory_new((size_t)ranks, sizeof *all), most = 0;
    world_allgather(world, &mine, sizeof mine, all);
    for (int rank = 0; rank < ranks; rank++)
        most = fmax(most, all[rank]);
    free(all);
    return ranks > world_cores(world) || card_is_brief() ? 0 : most;
}

bool undisturbed(struct undisturbed since, struct world *world)
{
    return !interference_is_significant(undisturbed_lost(since, world));
}

bool undisturbed_again(bool wants, double began, struct world *world)
{
    bool is_again = wants && world_wall() - began < UNDISTURBED_PATIENCE_S;
    world_broadcast(world, &is_again, sizeof is_again);
    if (is_again)
        world_heartbeat(world);
    return is_again;
}
