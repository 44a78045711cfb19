/* world_sim: what only a simulated world knows: how fast this rank's host is, and what it shares with others. */
#ifndef LOCKSTEP_WORLD_SIM_H
#define LOCKSTEP_WORLD_SIM_H

/* How many times as long work takes on this rank's host as on the platform's fastest. */
double world_slowdown(void);

/* Works for that many seconds of a core that needs the memory bus all the while. `bus` is the host in the platform file
 * that stands for it: its speed is what it can feed, of which each rank gets an equal share, up to its core's speed. */
void world_burn_cpu_on_bus(const char *bus, double seconds);

/* Ranks that this rank's host can feed at full speed at once: one for each core, or fewer where the bus (which may be NULL)
 * cannot. */
double world_parallel_capacity(const char *bus);

/* This rank's host: its name, and its cores. */
const char *world_host(void);
int world_host_cores(void);

#endif
