/* property_sim: the properties that a platform file gives to its hosts and to its outermost zone, as SimGrid tells them.
 * SimGrid's
 * versions have different functions for it; CMake finds out which there are, and only property_sim.c makes use of that. */
#ifndef LOCKSTEP_PROPERTY_SIM_H
#define LOCKSTEP_PROPERTY_SIM_H

#include <simgrid/host.h>
#include <simgrid/zone.h>

/* The outermost zone of the platform file. */
sg_netzone_t property_zone(void);

/* The host's own property of this name, or what the outermost zone says for all hosts; NULL: neither has it. */
const char *property_of(sg_host_t host, const char *name);

/* Calls `visit` with each property that the host itself has. */
void property_each(sg_host_t host, void (*visit)(sg_host_t host, const char *name, const char *value));

#endif
