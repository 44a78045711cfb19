/* probe: measures how fast the machine is now, to be compared with its card. A probe is a few steps with the run's usual batch, and a
 * few all-reduces of the gradients; where real ranks sum, also a few steps with a small batch. It never sees a case: call it between
 * blocks. It first waits for the trainer's prefetch, which would take part of a core.
 *
 * With more ranks than cores, rank 0 takes the steps while the others sleep; else all ranks take them at once, and real ones measure rank 0
 * alone besides. */
#ifndef LOCKSTEP_PROBE_H
#define LOCKSTEP_PROBE_H

#include "card/drift.h"
#include "model/trainer.h"

#include <stdbool.h>

struct probe;
struct shape_bench;
struct world;

/* all: open the probe and its collective. It trains this rank's `trainer`, which must be restarted before it goes on, and whose buffers
 * must hold run->batch_size of the workload's default samples (loader_most()). NULL: the probe opens a trainer of its own. Return NULL
 * on a machine that is only modelled, which never changes. */
struct probe *probe_open(const struct card *card, struct world *world, const struct workload *workload,
                         const struct run *run, struct trainer *trainer);

/* Run a warm-up lap before each local step from now on: cases train another model or other batches than the probe's, or sum large
 * messages, and leave theirs in the caches. Without it local steps of lab 10 took 9 % longer than those of its cases (two real ranks,
 * Intel Xeon, 2026-11-28), and of lab 03 3 % longer than its baseline's (AMD EPYC, 2026-11-29). Simulated ranks take turns, which
 * empties caches in any case. NULL is allowed. */
void probe_warm_up(struct probe *probe);

/* Return the size of the larger all-reduce that probes of a lab with these uses measure besides, in bytes: a part of the largest that the
 * lab uses, so that no case is measured. It needs a buffer of this size. 0: none is needed, because the lab sums little more than
 * gradients, or because simulated transfers never change. */
double probe_larger_bytes(const struct card_uses *uses, const struct workload *workload, int ranks, bool is_simulated);

/* all: from now on also measure an all-reduce of `bytes`, as the median of three, each between steps; 0: none. With single ones two rounds
 * of lab 03 were predicted 53 and 35 % too long, although no program had taken a core (two real ranks, AMD EPYC, 2026-11-29). NULL is
 * allowed. */
void probe_larger(struct probe *probe, double bytes);

/* all: visit the usual batch so often (laps.h), and run half as many pairs of all-reduces. What other programs disturb is repeated, at
 * most as often again. Every rank gets the means. */
enum { PROBE_VISITS = 2 };
struct card_probe probe_measure(struct probe *probe, int visits);

/* all: measure the local step alone, briefly: one visit, as short as a few steps. All parts are 0 if something disturbed it. Call it
 * after a probe_measure(). */
struct card_probe probe_local_step(struct probe *probe);

/* all: return the mean seconds of `pairs` pairs of all-reduces alone, on rank 0; 0 for one rank. There, set *is_disturbed to whether others
 * disturbed too many. */
double probe_transfer(struct probe *probe, int pairs, bool *is_disturbed);

/* Return the local steps of a probe, with the usual batch; NULL of NULL. */
struct shape_bench *probe_steps(const struct probe *probe);

/* all: close a probe; NULL is allowed. */
void probe_close(struct probe *probe);

/* Return the memory of a probe on each rank, beside that of its trainer. */
struct memory_estimate probe_memory(const struct workload *workload, const struct run *run);

#endif
