/* dedicated_cores: writes the platform file of "dedicated cores", one copy of this machine's core per rank. */
#ifndef LOCKSTEP_DEDICATED_CORES_H
#define LOCKSTEP_DEDICATED_CORES_H

#include "card/alpha_beta.h"

/* Return the platform's name in the results: "dedicated-cores", "dedicated-cores-membus2". The caller frees it. */
char *dedicated_cores_name(int membus);

/* Hosts: `ranks` hosts of one core; or, if `membus` is not 0, one host with `membus` cores, whose speed is divided among the ranks that
 * compute, as if all work waited for memory. Links: a message costs as much as makes the launch's all-reduce of two ranks, of up to
 * `most_bytes`, take `pair`; NULL for one rank, which sends none. */
struct dedicated_cores {
    int ranks, membus;
    double most_bytes;
    const struct alpha_beta *pair;
};

/* Return the path of the platform file folder/name if it was written within the last hour for this machine, at least `ranks` ranks, and
 * messages of at least `most_bytes`; NULL otherwise. Labs that use one file also share machine cards. `pair` is not read. Free it. */
char *dedicated_cores_find(const char *folder, const char *name, const struct dedicated_cores *cores);

/* Write the platform file folder/name and return its path, which the caller frees. */
char *dedicated_cores_write(const char *folder, const char *name, const struct dedicated_cores *cores);

#endif
