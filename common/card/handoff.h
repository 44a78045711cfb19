/* handoff: what it costs a rank to take a batch that its helper has finished, and to let the helper begin the next one: a lock, and a
 * call of the kernel that wakes a sleeping thread. */
#ifndef LOCKSTEP_HANDOFF_H
#define LOCKSTEP_HANDOFF_H

#include <stdbool.h>
#include <stddef.h>

struct async_helper;

/* Work of a rank between two hand-overs, as in a step: it computes for `seconds`, and writes `bytes` by vector instructions. All of
 * this matters (Intel Xeon with AVX-512 and a second cache of 2 MiB, 2026-11-28):
 *
 * - A step that fills the core's caches evicts the kernel's data. A helper on another core then took 36 us to wake, instead of 13.
 * - A core that changes its thread stores the registers in use. A helper on the rank's core then took 2.1 to 2.8 us with vector
 *   registers in use, as in a step, and 1.8 without.
 * - A core that multiplies matrices runs slower (frequency.h). */
struct handoff_rest {
    double seconds;
    size_t bytes;
    bool has_products; /* it multiplies matrices for those seconds */
};

/* Take the batch that the helper has finished, and let it begin the next one, which is no work. */
void handoff_once(struct async_helper *helper);

/* Return the seconds by which handing over `calls` times delays a rank, per call. The helper has nothing to do, but may share the rank's
 * core. */
double handoff_measure(struct async_helper *helper, struct handoff_rest rest, int calls);

#endif
