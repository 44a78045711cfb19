/* world_sim: functions of a simulated world only: the speed of this rank's host, and the resources that its ranks share. */
#ifndef LOCKSTEP_WORLD_SIM_H
#define LOCKSTEP_WORLD_SIM_H

/* Return the slowdown of this rank's host: duration of work there divided by its duration on the platform's fastest host. */
double world_slowdown(void);

/* Work for `seconds` of a core that uses the memory bus all the time. `bus` is the host in the platform file that stands
 * for the memory bus. The speed of `bus` is divided equally among the working ranks, each limited to its core's speed. */
void world_burn_cpu_on_bus(const char *bus, double seconds);

/* Return the parallel capacity of this rank's host: the number of ranks that can work at full speed at once. The cores limit this
 * number, and so does `bus` unless it is NULL. */
double world_parallel_capacity(const char *bus);

/* Return the name and the number of cores of this rank's host. */
const char *world_host(void);
int world_host_cores(void);

#endif
