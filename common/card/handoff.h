/* handoff: what it costs a rank to take a batch that its helper has finished, and to let the helper begin the next one: a lock, and a
 * call of the kernel that wakes a sleeping thread. */
#ifndef LOCKSTEP_HANDOFF_H
#define LOCKSTEP_HANDOFF_H

#include <stddef.h>

struct async_helper;

/* What a rank does between two hand-overs, as a step would: it computes for so many seconds, and writes to so many bytes by vector
 * instructions. A step that fills the core's caches leaves the kernel's own data to memory: then waking a thread took 36 us instead of 13.
 * And a core that changes its thread stores the registers in use: with vector registers 2.8 us instead of 1.8 (both Intel Xeon with
 * AVX-512 and a second cache of 2 MiB, 2026-11-28). */
struct handoff_rest {
    double seconds;
    size_t bytes;
};

/* Return the seconds by which handing over `calls` times delays a rank, per call. The helper has nothing to do, but may share the rank's
 * core. */
double handoff_measure(struct async_helper *helper, struct handoff_rest rest, int calls);

#endif
