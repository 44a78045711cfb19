/* dedicated: the platform file of "dedicated cores", as many copies of this machine's core as there are ranks. */
#ifndef LOCKSTEP_DEDICATED_H
#define LOCKSTEP_DEDICATED_H

#include "card/alpha_beta.h"

/* What this machine is called among the results: "dedicated-cores", "dedicated-cores-membus2". Free it. */
char *dedicated_cores_name(int membus);

/* Writes dedicated cores into folder/name and returns its path. Hosts: `ranks` single cores, or one host with `membus` cores
 * where `membus` is not 0: there the ranks share what `membus` cores take from memory. Links: a message costs what it
 * must for the launch's all-reduce of two ranks to take `pair`; NULL where one rank sends none. */
char *dedicated_cores_write(const char *folder, const char *name, int ranks, int membus, const struct alpha_beta *pair);

#endif
