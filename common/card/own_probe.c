#include "card/own_probe.h"

#include "base/memory.h"
#include "card/brief.h"
#include "card/frequency.h"
#include "card/undisturbed.h"
#include "device/device.h"
#include "world/world.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

struct own_probe {
    const struct own_cost *list;
    struct world *world;
    struct own_where where; /* except its world */
    int busy;
    /* On rank 0: */
    double credit;                /* seconds that may be spent now */
    double spent[OWN_COSTS_MOST]; /* on each cost so far */
};

struct own_probe *own_probe_open(const struct own_cost *list, struct world *world, struct own_where where, int busy)
{
    if (!list || !device_computes())
        return NULL;
    struct own_probe *p = memory_new(1, sizeof *p);
    *p = (struct own_probe){ .list = list, .world = world, .where = where, .busy = world_is_simulated() ? 1 : busy };
    return p;
}

/* On rank 0: return the next cost to measure, or -1 if this probe has spent enough. */
static int next_cost(const struct own_probe *p, const bool *is_done)
{
    int next = -1;
    for (int i = 0; p->credit > 0 && p->list[i].name; i++)
        if (!is_done[i] && own_cost_is_followed(p->list[i].kind) && (next < 0 || p->spent[i] < p->spent[next]))
            next = i;
    return next;
}

/* all of `together`: measure the next cost. Return its index, or -1 if it was the last one. */
static int measure_next(struct own_probe *p, struct world *together, const bool *is_done, double *seconds)
{
    int chosen = next_cost(p, is_done);
    world_broadcast(together, &chosen, sizeof chosen);
    if (chosen < 0)
        return chosen;
    const double began = world_wall();
    const struct undisturbed since = undisturbed_begin();
    p->where.together = together;
    *seconds = own_cost_seconds(&p->list[chosen], &p->where);
    if (!undisturbed(since, together))
        *seconds = (double)NAN;
    const double took = world_wall() - began;
    p->spent[chosen] += took;
    p->credit -= took;
    world_heartbeat(p->world);
    return chosen;
}

void own_probe_measure(struct own_probe *p, const struct own_costs *costs, struct own_pace pace, struct own_now *now)
{
    if (!p)
        return;
    struct world *together = world_first(p->world, p->busy);
    bool is_done[OWN_COSTS_MOST] = { false };
    double seconds = 0;
    p->credit += card_is_brief() && p->credit < 0 ? 0 : OWN_PROBE_S;
    if (together)
        frequency_recover(); /* from steps */
    for (int i; together && (i = measure_next(p, together, is_done, &seconds)) >= 0; is_done[i] = true) {
        const int place = own_costs_place(costs, p->list[i].name);
        const double times = own_pace_of(p->list[i].kind, pace);
        if (world_rank(together) == 0 && place >= 0 && times > 0 &&
            isfinite(own_cost_value(p->list[i].kind, seconds))) {
            now->at[place].seconds = seconds / times;
            now->at[place].weight = 1;
        }
    }
    if (together)
        world_leave(together);
    world_park(p->world);
}

void own_probe_close(struct own_probe *p)
{
    free(p);
}
