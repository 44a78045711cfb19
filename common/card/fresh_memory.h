/* fresh_memory: own cost (own_cost.h) of memory that a step maps, fills and releases: the kernel clears each page when it is first
 * written. A lab that lists the row has it on its card. A modelled machine has memory in no time unless its platform says otherwise. */
#ifndef LOCKSTEP_FRESH_MEMORY_H
#define LOCKSTEP_FRESH_MEMORY_H

#include "card/own_cost.h"

struct card;

/* Measure function: seconds per byte. */
double fresh_measure(const struct own_where *where, int which);

/* Row of a lab's table. More bytes than caches would keep of the pages that were just released. Probes do not follow it: on simulated ranks
 * those between blocks found 9 to 22 % more than steps took, and the turns in which the card measures it 0.2 % less (AMD EPYC). */
#define FRESH_BYTES ((size_t)64 << 20)
#define FRESH_COSTS                                                                                                    \
    {                                                                                                                  \
        "fresh_byte_s", OWN_STAYS, "mapping and filling 1 MB takes", "us", 1e12, FRESH_BYTES, fresh_measure, 0         \
    }

/* Return the seconds of mapping, filling and releasing `bytes`. */
double fresh_seconds(const struct card *card, double bytes);

#endif
