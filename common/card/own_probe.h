/* own_probe: measures a lab's own costs (own_cost.h) again between blocks, so that predictions follow each of them by itself. All of
 * them together would take too long, so a probe measures some: first those on which probes have spent least time, each once, until it
 * has spent OWN_PROBE_S more than the probes before it. So brief costs are in every probe, and long ones in every few. */
#ifndef LOCKSTEP_OWN_PROBE_H
#define LOCKSTEP_OWN_PROBE_H

#include "card/own_cost.h"

/* Seconds that a probe spends on average: like a visit of the local step (laps.h), beside which it runs. */
#define OWN_PROBE_S 0.06

struct own_probe;

/* all: open a probe of the list, whose costs the first `busy` ranks measure at once, as `where` says except for its world. NULL: no
 * list, or the machine is only modelled. */
struct own_probe *own_probe_open(const struct own_cost *list, struct world *world, struct own_where where, int busy);

/* all: measure some costs while the machine has this pace. Rank 0 gets them in now->at, by their places in `costs`, with weight 1, but
 * none that others disturbed, or whose pace is unknown. NULL: none. */
void own_probe_measure(struct own_probe *probe, const struct own_costs *costs, struct own_pace pace,
                       struct own_now *now);

void own_probe_close(struct own_probe *probe);

#endif
