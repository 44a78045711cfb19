/* world: the ranks of a job, and its time. Everything here is control: it is never inside what is timed.
 *
 * Calls marked "all" are made by every rank of the world, in the same order. */
#ifndef LOCKSTEP_WORLD_H
#define LOCKSTEP_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdnoreturn.h>

struct world;
struct flight_recorder;

/* all: joins the job this process was started in, or gives up after so many seconds. One world per process. */
struct world *world_open(double allowed);

/* all: leaves the job. The process may go on, alone. */
void world_close(struct world *world);

/* all: the same, and ends the process, which went well. A simulated rank ends alone, although all share one process. */
noreturn void world_exit(struct world *world);

int world_rank(const struct world *world);
int world_size(const struct world *world);

/* What the ranks may train on together: physical cores, unless world_trains_on() said otherwise. */
int world_cores(const struct world *world);
void world_trains_on(struct world *world, int cores);

/* A sign of life. Unless there is another within that many seconds, or one of collective.h's calls, the job is given up. */
void world_set_timeout(struct world *world, double seconds);

/* Another, which allows as much again. */
void world_heartbeat(struct world *world);

/* Where ranks write what they have come to; NULL where nobody reads it. */
struct flight_recorder *world_recorder(const struct world *world);

/* all: the first n ranks as a world of their own; NULL on the others, which should go to world_park().
 * The members release theirs with world_leave(). */
struct world *world_first(struct world *world, int n);
void world_leave(struct world *part);

/* all: waits until every rank is here; who waits sleeps and leaves its core to others. */
void world_park(struct world *world);

/* all: waits until every rank is here, awake, so that the ranks leave close together. */
void world_barrier(struct world *world);

/* all: rank 0's bytes on every rank. */
void world_broadcast(struct world *world, void *bytes, size_t count);

/* all: `count` bytes of each rank, in rank order, in `all` on rank 0 (elsewhere `all` is not touched). */
void world_gather(struct world *world, const void *mine, size_t count, void *all);

/* all: the same in `all` on every rank. */
void world_allgather(struct world *world, const void *mine, size_t count, void *all);

/* Time, in seconds. These three are the only clock and the only waiting in the lab: a simulated world has its
 * own. On one host all ranks read the same monotonic clock; clocks.h brings those of several together. */
double world_now(void);
void world_sleep(double seconds);
/* Works on the processor until that many seconds of *CPU time* are spent: on a shared core it takes longer. */
void world_burn_cpu(double seconds);

/* Seconds of the person's time, for budgets and progress, never for a result: in a simulated world it is another. */
double world_wall(void);

/* What a result says of where it comes from: the platform ("here": this machine, measured; else the simulated one's name),
 * and what runs the ranks ("Open MPI v4.1.4"). */
const char *world_platform(void);
const char *world_engine(void);
bool world_is_simulated(void);

/* A property that the platform file gives to this rank's host, or else to its outermost zone, so to all hosts; NULL when it
 * gives none, or the world is real. */
const char *world_property(const char *name);

/* What a simulated machine's file says that it is. */
const char *world_about(void);

#endif
