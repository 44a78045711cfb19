/* property_sim: reads the properties of hosts and of the outermost zone in a platform file, through SimGrid. SimGrid's versions
 * have different functions for this. CMake tests which functions exist, and only property_sim.c uses the result. */
#ifndef LOCKSTEP_PROPERTY_SIM_H
#define LOCKSTEP_PROPERTY_SIM_H

#include <simgrid/host.h>
#include <simgrid/zone.h>

/* Return the outermost zone of the platform file. */
sg_netzone_t property_zone(void);

/* Return the host's property of this name, or else the outermost zone's, which holds for all hosts; NULL if both lack it. */
const char *property_of(sg_host_t host, const char *name);

/* Call `visit` for each property of the host itself. */
void property_each(sg_host_t host, void (*visit)(sg_host_t host, const char *name, const char *value));

#endif
