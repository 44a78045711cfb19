/* world: provides the ranks of a job, their control messages and time. Control messages are never inside a timed section.
 *
 * All ranks of the world make the calls marked "all", in the same order. */
#ifndef LOCKSTEP_WORLD_H
#define LOCKSTEP_WORLD_H

#include <stdbool.h>
#include <stddef.h>

struct world;
struct flight_recorder;

/* all: join the job of this process, or end after `timeout` seconds. One world per process. */
struct world *world_open(double timeout);

/* all: leave the job. The process may continue alone. */
void world_close(struct world *world);

/* all: leave the job and exit with this status. A simulated rank ends alone, although all ranks share one process. */
_Noreturn void world_exit(struct world *world, int status);

/* Exit with STATUS_RIGHT while the other ranks go on, like a program whose loop ends early. Ranks that wait for this one wait for
 * ever. */
_Noreturn void world_exit_early(struct world *world);

/* Note that this rank now makes a mistake on purpose, so that the supervisor can tell how long the diagnosis took. */
void world_plant_mistake(struct world *world);

int world_rank(const struct world *world);
int world_size(const struct world *world);

/* Return the number of physical cores that the ranks may use together, unless world_trains_on() has set another number. */
int world_cores(const struct world *world);
void world_trains_on(struct world *world, int cores);

/* Return the number of these cores that no rank has. */
int world_spare_cores(const struct world *world);

/* Send a heartbeat and set the timeout. The job ends unless another heartbeat or a call of collective.h follows in time. */
void world_set_timeout(struct world *world, double seconds);

/* Send a heartbeat, with the same timeout. */
void world_heartbeat(struct world *world);

/* Return the flight recorder of this rank's collectives; NULL if there is none. */
struct flight_recorder *world_recorder(const struct world *world);

/* all: split the ranks into worlds. Ranks with the same color are a world, ordered by key, ranks with equal keys by rank. Return this
 * rank's new world, to be released with world_leave(); NULL for a negative color. */
struct world *world_split(struct world *world, int color, int key);

/* Give the ranks in `world` of the ranks of `part`, a world split from it: ranks (size of `part`). No communication. */
void world_ranks_in(const struct world *part, const struct world *world, int *ranks);

/* all: return a world of the first n ranks; NULL on the other ranks, which should call world_park(). */
struct world *world_first(struct world *world, int n);
void world_leave(struct world *part);

/* all: wait for every rank, asleep, so that a waiting rank leaves its core to others. */
void world_park(struct world *world);

/* all: wait for every rank, awake, so that the ranks leave at nearly the same time. */
void world_barrier(struct world *world);

/* all: copy rank 0's bytes to every rank. */
void world_broadcast(struct world *world, void *bytes, size_t count);

/* all: gather `count` bytes of each rank, in rank order, into `all` on rank 0. Other ranks do not use `all`. */
void world_gather(struct world *world, const void *mine, size_t count, void *all);

/* all: gather likewise into `all` on every rank. */
void world_allgather(struct world *world, const void *mine, size_t count, void *all);

/* all: return how many times exactly these ranks of the job have called this before; -1 if too many parts of the job have. No
 * communication. */
int world_next_number(struct world *world);

/* Never return: the job is over, and another process reports why. */
_Noreturn void world_stand_still(struct world *world);

/* Time, in seconds. Labs use no other clock and no other waiting than these functions, because a simulated world has its own
 * time. All ranks of one host read the same monotonic clock; clocks.h aligns the clocks of several hosts. */
double world_now(void);
void world_sleep(double seconds);
/* Compute for `seconds` of CPU time (not wall time). On a shared core this takes longer. */
void world_burn_cpu(double seconds);
/* Likewise, to a fraction of a microsecond, which takes a call of the kernel for each look at the clock. */
void world_spin(double seconds);

/* Return real time in seconds, for budgets and progress, never for a result. A simulated world has another time, world_now(). */
double world_wall(void);

/* Return the origin of results: the platform ("here" for this machine, else the simulated machine's name), and the library that
 * runs the ranks ("Open MPI v4.1.4"). */
const char *world_platform(void);
const char *world_engine(void);
bool world_is_simulated(void);

/* Return a property of this rank's host in the platform file, or else of the outermost zone, which holds for all hosts. NULL if
 * both lack the property, or if the world is real. */
const char *world_property(const char *name);

/* Return a property that is a number, or `otherwise` if it is missing or none. */
double world_property_number(const char *name, double otherwise);

/* Return the platform file's description of the simulated machine. */
const char *world_about(void);

#endif
