/* engine: sums over ranks. One source file per backend is linked: engine_mpi.c, engine_sim.c or engine_nccl.c. Its caller,
 * collective.c, numbers, stamps and checks the sums.
 *
 * Calls take their place in the device's order of work (device.h). A sum reads the results of earlier work, and later work
 * reads the sum's result. */
#ifndef LOCKSTEP_ENGINE_H
#define LOCKSTEP_ENGINE_H

#include "collective/collective.h"

#include <stdbool.h>
#include <stddef.h>

struct world;

/* receive = sum over ranks of send: `count` elements of device memory. `receive` is `send` or separate memory. */
struct sum {
    enum wire wire;
    const void *send;
    void *receive;
    size_t count;
    int sequence; /* the n-th collective of this world */
    int step;     /* step of the call */
};

static inline size_t sum_bytes(const struct sum *sum)
{
    return sum->count * (sum->wire == WIRE_F32 ? sizeof(float) : sizeof(uint16_t));
}

/* Each struct collective has one engine. */
struct engine;
struct engine *engine_open(struct world *world);
void engine_close(struct engine *engine);

void engine_sum(struct engine *engine, const struct sum *sum);
void engine_barrier(struct engine *engine, int sequence, int step);

/* Start a sum in a free slot, 0 … COLLECTIVE_STARTED_MOST - 1. */
void engine_start(struct engine *engine, int slot, const struct sum *sum);
/* Let the started sum advance. */
void engine_progress(struct engine *engine, int slot);
/* Return when the sum is done or, on a GPU, when work handed over later will see it done. */
void engine_finish(struct engine *engine, int slot);
/* True if started sums advance without engine_progress(). */
bool engine_runs_alone(void);

#endif
