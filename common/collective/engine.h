/* engine: what sums among ranks, one linked file per backend: engine_mpi.c, engine_sim.c, engine_nccl.c. The frame around
 * it, which counts, stamps and checks, is collective.c.
 *
 * All calls come in the device's order of work (device.h): a sum reads what was handed over before it, and what is handed
 * over after it reads its result. */
#ifndef LOCKSTEP_ENGINE_H
#define LOCKSTEP_ENGINE_H

#include "collective/collective.h"

#include <stdbool.h>
#include <stddef.h>

struct world;

/* receive = sum over ranks of send: `count` elements of device memory, the same or other memory than `send`. */
struct sum {
    enum wire wire;
    const void *send;
    void *receive;
    size_t count;
    int sequence; /* the n-th collective of this world */
    int step;     /* in which it is called */
};

static inline size_t sum_bytes(const struct sum *sum)
{
    return sum->count * (sum->wire == WIRE_F32 ? sizeof(float) : sizeof(uint16_t));
}

/* One per collective. */
struct engine;
struct engine *engine_open(struct world *world);
void engine_close(struct engine *engine);

void engine_sum(struct engine *engine, const struct sum *sum);
void engine_barrier(struct engine *engine, int sequence, int step);

/* The same sum in parts: at most COLLECTIVE_STARTED_MOST at one time, each in a slot of its own. */
void engine_start(struct engine *engine, int slot, const struct sum *sum);
/* Gives it a chance to move. */
void engine_progress(struct engine *engine, int slot);
/* Returns when it is done, or, on a device with an order of work, when what is handed over next will see it done. */
void engine_finish(struct engine *engine, int slot);
/* Whether sums move without engine_progress(). */
bool engine_runs_alone(void);

#endif
